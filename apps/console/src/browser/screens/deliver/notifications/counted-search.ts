import type { InputOf } from '../../../../actions/index.ts'
import type { NotificationFilters } from './filter-form.tsx'

/** The statistics behind a search, and which of their series it is about. */
export interface CountedSearch {
  readonly input: InputOf<'readStats'>
  readonly where: (labels: Readonly<Record<string, string>>) => boolean
}

const counted: ReadonlySet<string> = new Set(['event', 'channel', 'outcome', 'from', 'to'])
const hourMs = 3_600_000
const dayMs = 24 * hourMs
const maxRangeMs = 400 * dayMs
const maxSteps = 120
const wholeHour = 3_600

/**
 * What is counted of a search: outcomes by channel, or by event type, which are kept by the hour. Undefined for what is not
 * counted: users, states, providers, priorities and keys, and an event type on one channel. `now` in Unix milliseconds.
 */
export function countedSearch(filters: NotificationFilters, now: number): CountedSearch | undefined {
  const { event, channel, outcome, from, to } = filters
  if (Object.keys(filters).some((name) => !counted.has(name)) || (event !== undefined && channel !== undefined))
    return undefined
  const end = to === undefined ? now + hourMs : Date.parse(to)
  const begin = from === undefined ? end - dayMs : Date.parse(from)
  if (!(begin < end) || end - begin > maxRangeMs) return undefined
  const by = event === undefined ? 'channel' : 'event'
  return {
    input: {
      ...{ measure: 'outcomes', by, from: new Date(begin).toISOString(), step: stepOf(end - begin, by) },
      ...(to === undefined ? {} : { to: new Date(end).toISOString() }),
    },
    where: (labels) =>
      (event === undefined || labels.event === event) &&
      (channel === undefined || labels.channel === channel) &&
      (outcome === undefined || labels.outcome === outcome),
  }
}

/** Seconds: minutes up to a few hours, else whole hours. */
function stepOf(rangeMs: number, by: 'channel' | 'event'): number {
  const wanted = Math.ceil(rangeMs / 1_000 / maxSteps)
  if (by === 'channel' && rangeMs <= 2 * dayMs) return Math.ceil(wanted / 60) * 60
  return Math.ceil(wanted / wholeHour) * wholeHour
}
