import type { SendResult } from '../model/send-result.ts'
import { describeResponse, type HttpResponse, parseRetryAfter, retryAfterOf } from '../transport/http.ts'

/** The result of SendGrid's response. A 4xx that is not about the mail is about the account. */
export function resultOfResponse(response: HttpResponse, now: number): SendResult {
  const { status, headers } = response
  const reason = describeResponse(response)
  const id = [headers['x-message-id']].flat()[0]
  if (status === 202) return { kind: 'accepted', ...(id ? { providerMessageId: id } : {}) }
  if (status === 429) {
    const retryAfterMs = parseRetryAfter(response, now) ?? parseResetMs(response, now)
    return { kind: 'rate_limited', ...(retryAfterMs === undefined ? {} : { retryAfterMs }), accountWide: true, reason }
  }
  if (status >= 500) return { kind: 'transient', ...retryAfterOf(response, now), reason }
  if (status === 400 || status === 413) return { kind: 'permanent', code: String(status), reason }
  return status >= 300 ? { kind: 'misconfigured', reason } : { kind: 'ambiguous', reason }
}

/** Milliseconds until the limit is reset: X-RateLimit-Reset, in Unix seconds. */
function parseResetMs({ headers }: HttpResponse, now: number): number | undefined {
  const field = [headers['x-ratelimit-reset']].flat()[0]
  if (!field || !/^\d{9,11}$/.test(field)) return undefined
  return Math.min(3_600_000, Math.max(0, Number(field) * 1_000 - now))
}
