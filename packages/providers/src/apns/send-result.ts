import type { SendResult } from '../model/provider.ts'
import { describeResponse, type HttpResponse, parseJsonObject, parseRetryAfter } from '../transport/http.ts'

/** Tokens of another environment or app. */
const foreignTokenReasons = new Set(['BadDeviceToken', 'DeviceTokenNotForTopic'])
/** What comes from our settings alone, whoever the push is for. */
const configurationReasons = new Set(['BadTopic', 'MissingTopic', 'TopicDisallowed', 'BadMessageId', 'InvalidPushType'])
/** Reasons to make a new provider token, once. */
const providerTokenReasons = new Set(['ExpiredProviderToken', 'InvalidProviderToken', 'MissingProviderToken'])

/** The reason that APNs gives for a refusal. */
function parseReason(answer: HttpResponse): string | undefined {
  const reason = parseJsonObject(answer)?.reason
  return typeof reason === 'string' ? reason : undefined
}

/** Whether a push was refused for our provider token. */
export function isTokenRejected(answer: HttpResponse): boolean {
  return answer.status === 403 && providerTokenReasons.has(parseReason(answer) ?? '')
}

/**
 * What an answer of APNs means (developer.apple.com, "Handling notification responses from APNs"), for a call made at
 * `calledAt`. `proven`: this environment and topic have taken a push before, so that a token they don't know is dead;
 * else the environment may be the wrong one, and no device is given up for that.
 */
export function resultOfResponse(answer: HttpResponse, calledAt: number, proven: boolean): SendResult {
  const { status, headers } = answer
  if (status === 200) {
    const id = headers['apns-id']
    return { kind: 'accepted', ...(typeof id === 'string' ? { providerMessageId: id } : {}) }
  }
  const code = parseReason(answer)
  const reason = describeResponse(answer)
  const pause = parseRetryAfter(answer, calledAt)
  const retryAfter = pause === undefined ? {} : { retryAfterMs: pause }
  if (status === 429)
    return { kind: 'rate_limited', ...retryAfter, ...(code === 'TooManyRequests' ? {} : { accountWide: true }), reason }
  if (status >= 500 || code === 'IdleTimeout') return { kind: 'transient', ...retryAfter, reason }
  if (status === 410) return { kind: 'dead_token', at: parseGoneSince(answer, calledAt), reason }
  if (code !== undefined && foreignTokenReasons.has(code)) {
    if (proven) return { kind: 'dead_token', at: calledAt, reason }
    return { kind: 'permanent', code, reason: `${reason}; is environment or topic that of another app?` }
  }
  const isOurs =
    [401, 403, 404, 405].includes(status) || status < 400 || (code !== undefined && configurationReasons.has(code))
  return isOurs ? { kind: 'misconfigured', reason } : { kind: 'permanent', code: code ?? String(status), reason }
}

/** Since when a device is gone: APNs says so in milliseconds. Never later than the call. */
function parseGoneSince(answer: HttpResponse, calledAt: number): number {
  const timestamp = parseJsonObject(answer)?.timestamp
  const isTime = typeof timestamp === 'number' && Number.isFinite(timestamp) && timestamp > 0
  return isTime ? Math.min(timestamp, calledAt) : calledAt
}
