import type { SendResult } from '../model/send-result.ts'
import { describeResponse, type HttpResponse, retryAfterOf } from '../transport/http.ts'

/** How long a push waits for a server that has not accepted any, in milliseconds: short, for it may be an outage of ours. */
const unprovenRetryMs = 5_000

/**
 * The result of a push to an origin that has not accepted any yet. It comes from a client and may be no push service, even
 * where its name ends like one: what it answers says nothing about Web Push, but for a rejected key, which is told by the
 * result itself. Nor does a failure say anything about the push, since our own network may be down: an attempt counts only
 * where the push may have been accepted.
 */
export function resultOfUnproven(result: SendResult): SendResult {
  switch (result.kind) {
    case 'accepted':
    case 'misconfigured':
      return result
    case 'transient': {
      const { retryAfterMs = unprovenRetryMs, reason } = result
      return { kind: 'rate_limited', retryAfterMs, ofAddress: true, reason }
    }
    default:
      return { ...result, ofAddress: true }
  }
}

/** Statuses with which push services reject a VAPID key. */
const keyStatuses = new Set([400, 401, 403])

/**
 * The result of a push service's response to a call made at `calledAt`, Unix milliseconds (RFC 8030 §5, RFC 8292 §4).
 * `proven`: a push with this VAPID key was accepted before, by whichever service, so if the key is rejected now, the
 * subscription was made with another one.
 */
export function resultOfResponse(response: HttpResponse, calledAt: number, proven: boolean): SendResult {
  const { status, headers } = response
  if (status >= 200 && status < 300) {
    const id = headers.location
    return { kind: 'accepted', ...(typeof id === 'string' && id.length <= 512 ? { providerMessageId: id } : {}) }
  }
  const reason = describeResponse(response)
  const retryAfter = retryAfterOf(response, calledAt)
  if (status === 404 || status === 410) return { kind: 'dead_token', at: calledAt, reason }
  if (status === 429) return { kind: 'rate_limited', ...retryAfter, reason }
  if (status >= 500 || status === 408) return { kind: 'transient', ...retryAfter, reason }
  if (keyStatuses.has(status) && !proven) return { kind: 'misconfigured', unproven: true, reason }
  return { kind: 'permanent', code: String(status), reason }
}
