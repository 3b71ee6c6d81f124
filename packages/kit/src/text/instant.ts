import { Problem } from '../problem.ts'

const form =
  /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.(\d+))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/
const earliest = 0
const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** What a point in time must be, for error texts. */
export const instantExpected = 'must be a date and time of RFC 3339 from 1970 to 9999, such as 2026-12-31T18:00:00Z'

/** Whether {@link instantOf} can read the text. */
export function isInstant(text: string): boolean {
  return read(text) !== undefined
}

/**
 * A date-time of RFC 3339 §5.6 as Unix milliseconds; further digits of the second are dropped, and a leap second is the
 * first moment of the next day, as in Unix time.
 * @throws Problem 400 for anything else, and for what lies before 1970 or after 9999 in UTC
 */
export function instantOf(text: string, pointer: string = '/'): number {
  const instant = read(text)
  if (instant !== undefined) return instant
  throw new Problem(400, `${pointer} ${instantExpected}.`, { errors: [{ pointer, detail: instantExpected }] })
}

function read(text: string): number | undefined {
  const found = form.exec(text)
  if (found === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1, 7).map(Number)
  const date = new Date(Date.UTC(2000, 0))
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  const [, , , , , , , fraction = '', sign, zoneHours = 0, zoneMinutes = 0] = found
  const zone = (sign === '-' ? -1 : 1) * (Number(zoneHours) * 60 + Number(zoneMinutes))
  date.setUTCHours(hour, minute - zone, second, Number(`${fraction}000`.slice(0, 3)))
  const instant = date.getTime()
  if (second === 60 && instant % 86_400_000 >= 1_000) return undefined
  return instant >= earliest && instant <= latest ? instant : undefined
}
