import type { InputOf } from '../../../../actions/index.ts'
import { parseTime } from '../../../forms/event-time.ts'

/** An event of a simulation. */
export type SimulatedEvent = InputOf<'simulateEventType'>['events'][number]

/** The most events of a simulation. */
export const maxEvents = 500
const maxSpanMs = 31 * 86_400_000

/** What a pasted text has. */
export interface PastedEvents {
  readonly events: readonly SimulatedEvent[]
  /** The numbers, from 1, of the lines that are no events. */
  readonly faults: readonly number[]
  /** Why what can be read cannot be simulated. */
  readonly exceeded?: 'events' | 'span'
}

/**
 * Reads events, one a line: a time, or a JSON object as producers send it, with a time (`at` or `time`), and if you like
 * `user_id` and `data`. Times are ISO 8601 or Unix seconds or milliseconds.
 */
export function parseEvents(text: string): PastedEvents {
  const lines = text.split(/\r\n|\n|\r/).map((line, index) => ({ line: line.trim(), number: index + 1 }))
  const written = lines.filter(({ line }) => line !== '')
  if (written.length > maxEvents) return { events: [], faults: [], exceeded: 'events' }
  const read = written.map(({ line, number }) => ({
    number,
    event: line.startsWith('{') ? readJson(line) : readTime(line),
  }))
  const events = read.flatMap(({ event }) => event ?? [])
  const faults = read.flatMap(({ number, event }) => (event ? [] : [number]))
  const times = events.map(({ at }) => Date.parse(at))
  if (Math.max(...times) - Math.min(...times) > maxSpanMs) return { events, faults, exceeded: 'span' }
  return { events, faults }
}

/** An event each hour of a day of UTC, as a text that {@link parseEvents} reads. */
export function hourlyEvents(day: string): string {
  const hours = Array.from({ length: 24 }, (_, hour) => `${day}T${String(hour).padStart(2, '0')}:00:00Z`)
  return hours.join('\n')
}

function readTime(value: unknown): SimulatedEvent | undefined {
  const at = parseTime(value)
  return at === undefined ? undefined : { at: new Date(at).toISOString() }
}

function readJson(line: string): SimulatedEvent | undefined {
  try {
    const { at, time = at, user_id: user, data } = JSON.parse(line) as Record<string, unknown>
    const event = readTime(time)
    if (event === undefined || !isOptional(user, 'string') || !isOptional(data, 'object') || Array.isArray(data)) return
    return {
      ...event,
      ...(user ? { user_id: user as string } : {}),
      ...(data ? { data: data as Record<string, unknown> } : {}),
    }
  } catch {
    return undefined
  }
}

function isOptional(value: unknown, type: 'string' | 'object'): boolean {
  return value === undefined || value === null || typeof value === type
}
