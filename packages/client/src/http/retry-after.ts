/**
 * Milliseconds to wait by `Retry-After` (RFC 9110 §10.2.3), undefined without a valid one. A date is read against the
 * server's own `Date` where there is one, so that the clock of this machine does not matter.
 */
export function parseRetryAfter(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get('retry-after')?.trim()
  if (!value) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000
  const at = Date.parse(value)
  if (Number.isNaN(at)) return undefined
  const serverNow = Date.parse(headers.get('date') ?? '')
  return Math.max(0, at - (Number.isNaN(serverNow) ? nowMs : serverNow))
}
