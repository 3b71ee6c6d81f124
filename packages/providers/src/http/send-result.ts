import type { Channel } from '../model/channel.ts'
import type { SendResult } from '../model/send-result.ts'
import { describeResponse, type HttpResponse, parseJsonObject, retryAfterOf } from '../transport/http.ts'

/** Statuses about the URL or the secret, whatever the message. */
const configurationStatuses = new Set([401, 403, 404, 405, 415])
const transientStatuses = new Set([408, 425])

/** The result of a response to a call made at `calledAt`, Unix milliseconds. 410: the device or address is invalid. */
export function resultOfResponse(response: HttpResponse, channel: Channel, calledAt: number): SendResult {
  const { status } = response
  if (status >= 200 && status < 300) {
    const id = parseJsonObject(response)?.id
    return { kind: 'accepted', ...(typeof id === 'string' && id.length <= 256 ? { providerMessageId: id } : {}) }
  }
  const reason = describeResponse(response)
  const retryAfter = retryAfterOf(response, calledAt)
  if (status === 429) return { kind: 'rate_limited', ...retryAfter, accountWide: true, reason }
  if (status >= 500 || transientStatuses.has(status)) return { kind: 'transient', ...retryAfter, reason }
  if (status < 400 || configurationStatuses.has(status)) return { kind: 'misconfigured', reason }
  if (status !== 410) return { kind: 'permanent', code: String(status), reason }
  if (channel === 'push') return { kind: 'dead_token', at: calledAt, reason }
  return { kind: 'permanent', code: '410', reason, undeliverable: 'bounced' }
}
