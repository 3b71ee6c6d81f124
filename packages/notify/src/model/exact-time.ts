/** A point in time to the microsecond, as text that PostgreSQL reads: Unix milliseconds and the microseconds after them. */
export function exactTime(milliseconds: number, microseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, -1)}${String(microseconds).padStart(3, '0')}Z`
}
