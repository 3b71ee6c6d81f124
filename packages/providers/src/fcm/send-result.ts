import type { SendResult } from '../model/provider.ts'
import { describeResponse, type HttpResponse, parseJsonObject, parseRetryAfter } from '../transport/http.ts'

/** What an answer of FCM's means (firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode), for a call made at `calledAt`. */
export function resultOfResponse(answer: HttpResponse, calledAt: number): SendResult {
  const { status } = answer
  const body = parseJsonObject(answer)
  const reason = describeResponse(answer)
  if (status === 200) {
    const name = body?.name
    if (typeof name === 'string' && name.length <= 512) return { kind: 'accepted', providerMessageId: name }
    return { kind: 'ambiguous', reason: `${reason}, which is not FCM's` }
  }
  const error = parseError(body?.error)
  const pause = parseRetryAfter(answer, calledAt)
  const retryAfter = pause === undefined ? {} : { retryAfterMs: pause }
  if (status === 429) return { kind: 'rate_limited', ...retryAfter, accountWide: true, reason }
  if (status >= 500) return { kind: 'transient', ...retryAfter, reason }
  if (isDeviceError(error.code ?? error.status) || isBadToken(status, error))
    return { kind: 'dead_token', at: calledAt, reason }
  if (status === 401 || status === 403 || status === 404 || status < 400) return { kind: 'misconfigured', reason }
  return { kind: 'permanent', code: error.status ?? String(status), reason }
}

/** A device that is gone, or of another project. */
function isDeviceError(code: string | undefined): boolean {
  return code === 'UNREGISTERED' || code === 'SENDER_ID_MISMATCH'
}

interface FcmError {
  /** FCM's own code, from its detail. */
  readonly code: string | undefined
  readonly status: string | undefined
  /** The fields of our request that were wrong. */
  readonly fields: readonly unknown[]
}

/**
 * INVALID_ARGUMENT speaks of the token where FCM says so itself, or where the token is the only field at fault; any
 * other field is our payload's fault, and the device stays.
 */
function isBadToken(status: number, { code, fields }: FcmError): boolean {
  if (status !== 400 || (code !== 'INVALID_ARGUMENT' && fields.length === 0)) return false
  return fields.every((field) => field === 'message.token')
}

function parseError(given: unknown): FcmError {
  const { status, details } = (given ?? {}) as { status?: unknown; details?: unknown }
  const list = (Array.isArray(details) ? details : []) as Array<Record<string, unknown> | null>
  const ofType = (type: string) => list.find((each) => String(each?.['@type']).endsWith(type))
  const code = ofType('google.firebase.fcm.v1.FcmError')?.errorCode
  const violations = ofType('google.rpc.BadRequest')?.fieldViolations
  return {
    code: typeof code === 'string' ? code : undefined,
    status: typeof status === 'string' ? status : undefined,
    fields: Array.isArray(violations) ? violations.map((each: { field?: unknown } | null) => each?.field) : [],
  }
}
