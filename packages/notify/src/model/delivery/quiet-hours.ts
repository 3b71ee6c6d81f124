import { isZone } from '@gatehouse/kit'

/** A range of local wall-clock time, `HH:MM`. It may wrap midnight; `start = end` means none. */
export interface QuietHours {
  readonly start: string
  readonly end: string
}

/** A time of day as quiet hours write it. */
export const timeOfDayPattern = '^([01]\\d|2[0-3]):[0-5]\\d$'

/**
 * When quiet hours that hold at `now` (Unix milliseconds) end in the user's zone, or undefined when they don't hold.
 * They hold from `start` o'clock of a day of the local calendar to the next `end` o'clock; either that a clock change skips
 * or doubles is resolved as Temporal's `compatible` does. An unknown zone counts as UTC.
 */
export function quietUntil(quiet: QuietHours, zone: string, now: number): number | undefined {
  const start = Temporal.PlainTime.from(quiet.start)
  const end = Temporal.PlainTime.from(quiet.end)
  const order = Temporal.PlainTime.compare(start, end)
  if (order === 0) return undefined
  const timeZone = isZone(zone) ? zone : 'UTC'
  const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timeZone).toPlainDate()
  const zoned = (day: Temporal.PlainDate, plainTime: Temporal.PlainTime) => day.toZonedDateTime({ timeZone, plainTime })
  const at = (day: Temporal.PlainDate, plainTime: Temporal.PlainTime) => zoned(day, plainTime).epochMilliseconds
  const wraps = order > 0
  const first = now >= at(today, start) || !wraps ? today : today.subtract({ days: 1 })
  const last = wraps ? first.add({ days: 1 }) : first
  const meetsNext = at(last, end) >= at(first.add({ days: 1 }), start)
  const until = meetsNext ? earlierEnd(zoned(last, end)) : at(last, end)
  return at(first, start) <= now && now < until ? until : undefined
}

/** How what waits for the end of quiet hours is spread. */
export interface Morning {
  /** When they end, Unix milliseconds. */
  readonly end: number
  readonly spreadMs: number
  /** In [0, 1). */
  readonly random: number
  readonly isQuiet: (at: number) => boolean
}

/**
 * When what waited for the end of quiet hours goes on: somewhat later, so that not all of a morning do at once. It does at
 * the end itself where they hold again before as much time has passed once more: sending takes time, too.
 */
export function resumeAfter({ end, spreadMs, random, isQuiet }: Morning): number {
  const offset = Math.floor(random * spreadMs)
  return isQuiet(end + offset) || isQuiet(end + 2 * offset) ? end : end + offset
}

/** A span of time, Unix milliseconds. */
export interface QuietRange {
  readonly from: number
  readonly until: number
}

/** When quiet hours hold in a zone between `from` and `to` (Unix milliseconds): whole ranges, in the order of time. */
export function quietRanges(quiet: QuietHours, zone: string, from: number, to: number): QuietRange[] {
  const timeZone = isZone(zone) ? zone : 'UTC'
  const plainTime = Temporal.PlainTime.from(quiet.start)
  const ranges: QuietRange[] = []
  let day = Temporal.Instant.fromEpochMilliseconds(from)
    .toZonedDateTimeISO(timeZone)
    .toPlainDate()
    .subtract({ days: 1 })
  for (let start = 0; start <= to; day = day.add({ days: 1 })) {
    start = day.toZonedDateTime({ timeZone, plainTime }).epochMilliseconds
    const until = quietUntil(quiet, zone, start)
    if (until === undefined) return ranges
    if (until > from && start <= to) ranges.push({ from: start, until })
  }
  return ranges
}

/** An end that a clock change moved onto the next start is brought forward by as much: the hour between is the user's wish. */
function earlierEnd(end: Temporal.ZonedDateTime): number {
  const before = end.subtract({ hours: 24 }).offsetNanoseconds
  return end.epochMilliseconds - (end.offsetNanoseconds - before) / 1_000_000
}
