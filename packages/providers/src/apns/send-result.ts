import type { SendResult } from '../model/send-result.ts'
import { describeResponse, type HttpResponse, parseJsonObject, retryAfterOf } from '../transport/http.ts'

/** Device tokens of another environment or app. */
const foreignTokenReasons = new Set(['BadDeviceToken', 'DeviceTokenNotForTopic'])
/** Errors of the options, whatever the push. */
const configurationReasons = new Set(['BadTopic', 'MissingTopic', 'TopicDisallowed', 'BadMessageId', 'InvalidPushType'])
/** Errors of the provider token. */
const providerTokenReasons = new Set(['ExpiredProviderToken', 'InvalidProviderToken', 'MissingProviderToken'])

/** The reason in the body of an error response. */
function parseReason(response: HttpResponse): string | undefined {
  const reason = parseJsonObject(response)?.reason
  return typeof reason === 'string' ? reason : undefined
}

/** Whether APNs rejected the provider token. */
export function isTokenRejected(response: HttpResponse): boolean {
  return response.status === 403 && providerTokenReasons.has(parseReason(response) ?? '')
}

/**
 * The result of APNs' response to a call made at `calledAt`, Unix milliseconds (developer.apple.com, "Handling
 * notification responses from APNs"). `proven`: a push was accepted before, so environment and topic are right, and a
 * token that APNs does not know is dead. Otherwise the environment may be wrong, and no device is given up.
 */
export function resultOfResponse(response: HttpResponse, calledAt: number, proven: boolean): SendResult {
  const { status, headers } = response
  if (status === 200) {
    const id = headers['apns-id']
    return { kind: 'accepted', ...(typeof id === 'string' ? { providerMessageId: id } : {}) }
  }
  const code = parseReason(response)
  const reason = describeResponse(response)
  const retryAfter = retryAfterOf(response, calledAt)
  if (status === 429)
    // TooManyRequests is a limit of the device, any other reason one of the account
    return { kind: 'rate_limited', ...retryAfter, ...(code === 'TooManyRequests' ? {} : { accountWide: true }), reason }
  if (status >= 500 || code === 'IdleTimeout') return { kind: 'transient', ...retryAfter, reason }
  if (status === 410) return { kind: 'dead_token', at: parseGoneSince(response, calledAt), reason }
  if (code !== undefined && foreignTokenReasons.has(code)) {
    if (proven) return { kind: 'dead_token', at: calledAt, reason }
    return { kind: 'permanent', code, reason: `${reason}; is environment or topic that of another app?` }
  }
  const isMisconfigured =
    [401, 403, 404, 405].includes(status) || status < 400 || (code !== undefined && configurationReasons.has(code))
  return isMisconfigured
    ? { kind: 'misconfigured', reason }
    : { kind: 'permanent', code: code ?? String(status), reason }
}

/** Since when the device is unregistered: APNs returns milliseconds. Never later than the call. */
function parseGoneSince(response: HttpResponse, calledAt: number): number {
  const timestamp = parseJsonObject(response)?.timestamp
  const isTime = typeof timestamp === 'number' && Number.isFinite(timestamp) && timestamp > 0
  return isTime ? Math.min(timestamp, calledAt) : calledAt
}
