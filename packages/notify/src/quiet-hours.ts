/** A range of local wall-clock time, `HH:MM`. It may wrap midnight; `start = end` means none. */
export interface QuietHours {
  readonly start: string
  readonly end: string
}

/** A time of day as quiet hours write it. */
export const timeOfDayPattern = '^([01]\\d|2[0-3]):[0-5]\\d$'

/**
 * When quiet hours that hold at `now` (Unix milliseconds) end in the user's zone, or undefined when they don't hold.
 * The end is the next `end` o'clock of the local calendar; one that a clock change skips or doubles is resolved as
 * Temporal's `compatible` does. An unknown zone counts as UTC.
 */
export function quietUntil(quiet: QuietHours, zone: string, now: number): number | undefined {
  const start = Temporal.PlainTime.from(quiet.start)
  const end = Temporal.PlainTime.from(quiet.end)
  if (start.equals(end)) return undefined
  const local = zoned(now, zone)
  const time = local.toPlainTime()
  const [afterStart, beforeEnd] = [!isBefore(time, start), isBefore(time, end)]
  const wraps = isBefore(end, start)
  if (wraps ? !afterStart && !beforeEnd : !afterStart || !beforeEnd) return undefined
  const day = wraps && afterStart ? local.toPlainDate().add({ days: 1 }) : local.toPlainDate()
  const until = day.toZonedDateTime({ timeZone: local.timeZoneId, plainTime: end }).epochMilliseconds
  return until > now ? until : undefined
}

function isBefore(a: Temporal.PlainTime, b: Temporal.PlainTime): boolean {
  return Temporal.PlainTime.compare(a, b) < 0
}

function zoned(now: number, zone: string): Temporal.ZonedDateTime {
  const instant = Temporal.Instant.fromEpochMilliseconds(now)
  return instant.toZonedDateTimeISO(isZone(zone) ? zone : 'UTC')
}

/** Whether `zone` is an IANA time zone that this machine knows. */
export function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return !/^[+-]/.test(zone)
  } catch {
    return false
  }
}
