import {
  isTableHead,
  type LineFaultCode,
  readJson,
  readPlain,
  readRow,
  type TableHead,
  tableHeadOf,
} from './event-line.ts'
import { type Arrival, maxArrivals } from './traffic.ts'

/** The limits of a pasted text. */
export const maxEvents = { lines: 10_000, characters: 1_000_000 } as const

/** A line that is no event; counted from 1. */
export interface LineFault {
  readonly line: number
  readonly code: LineFaultCode
  /** What stands there instead. */
  readonly found: string
}

/** What a pasted text has. */
export interface PastedEvents {
  /** The requests in the order of time, at most {@link maxArrivals}. */
  readonly arrivals: readonly Arrival[]
  /** The number of lines that are events. */
  readonly events: number
  /** The lines that are none; the others are simulated. */
  readonly faults: readonly LineFault[]
  /** The limit that the text exceeds; then nothing of it is read. */
  readonly exceeded?: keyof typeof maxEvents
}

/**
 * Reads events, one a line, in any of three forms, which may stand in one text:
 * - JSON lines, as a gateway or proxy logs them;
 * - CSV with a line of names first, separated by comma, semicolon or tab;
 * - a time and, if you like, a caller.
 *
 * Times are ISO 8601 or Unix seconds or milliseconds. An event with a count is that many requests at its time.
 */
export function parseEvents(text: string): PastedEvents {
  const none = { arrivals: [], events: 0, faults: [] }
  if (text.length > maxEvents.characters) return { ...none, exceeded: 'characters' }
  const lines = text.split(/\r\n|\n|\r/)
  if (lines.filter((line) => line.trim() !== '').length > maxEvents.lines) return { ...none, exceeded: 'lines' }
  const events: CountedArrival[] = []
  const faults: LineFault[] = []
  let head: TableHead | undefined
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    if (isTableHead(line)) {
      head = tableHeadOf(line)
      continue
    }
    const read = line.trimStart().startsWith('{') ? readJson(line) : head ? readRow(line, head) : readPlain(line)
    if ('code' in read) faults.push({ line: index + 1, ...read })
    else events.push(read)
  }
  return { arrivals: toArrivals(events), events: events.length, faults }
}

type CountedArrival = Arrival & { readonly count: number }

function toArrivals(events: readonly CountedArrival[]): Arrival[] {
  const arrivals: Arrival[] = []
  for (const { count, ...arrival } of events.toSorted((one, other) => one.at - other.at)) {
    const fitting = Math.min(count, maxArrivals - arrivals.length)
    for (let nth = 0; nth < fitting; nth++) arrivals.push(arrival)
  }
  return arrivals
}
