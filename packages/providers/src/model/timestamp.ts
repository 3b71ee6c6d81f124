const form =
  /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.(\d+))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/
const maxTimestamp = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** What an error says a timestamp must be. */
export const timestampExpected = 'must be a date and time of RFC 3339 from 1970 to 9999, such as 2026-12-31T18:00:00Z'

/**
 * A date-time of RFC 3339 §5.6 as Unix milliseconds; undefined for anything else, and for what lies before 1970 or after
 * 9999 in UTC. Further digits of the second are dropped, and a leap second is the first moment of the next day, as in
 * Unix time.
 */
export function parseTimestamp(text: string): number | undefined {
  const found = form.exec(text)
  if (found === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1, 7).map(Number)
  const date = new Date(Date.UTC(2000, 0))
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  const [, , , , , , , fraction = '', sign, zoneHours = 0, zoneMinutes = 0] = found
  const zone = (sign === '-' ? -1 : 1) * (Number(zoneHours) * 60 + Number(zoneMinutes))
  date.setUTCHours(hour, minute - zone, second, Number(`${fraction}000`.slice(0, 3)))
  const timestamp = date.getTime()
  if (second === 60 && timestamp % 86_400_000 >= 1_000) return undefined
  return timestamp >= 0 && timestamp <= maxTimestamp ? timestamp : undefined
}
