import type { SendResult } from '../model/send-result.ts'
import { describeResponse, type HttpResponse, parseJsonObject, retryAfterOf } from '../transport/http.ts'

/**
 * The result of FCM's response to a call made at `calledAt`, Unix milliseconds
 * (firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode). `proven`: a push was accepted before, so the project is
 * right, and a token of another one is dead. Otherwise the project may be wrong, and no device is given up.
 */
export function resultOfResponse(response: HttpResponse, calledAt: number, proven: boolean): SendResult {
  const { status } = response
  const body = parseJsonObject(response)
  const reason = describeResponse(response)
  if (status === 200) {
    const name = body?.name
    if (typeof name === 'string' && name.length <= 512) return { kind: 'accepted', providerMessageId: name }
    return { kind: 'ambiguous', reason: `${reason}, which is not FCM's` }
  }
  const error = parseError(body?.error)
  const retryAfter = retryAfterOf(response, calledAt)
  if (status === 429)
    return { kind: 'rate_limited', ...retryAfter, ...(isDeviceLimit(error) ? {} : { accountWide: true }), reason }
  if (status >= 500) return { kind: 'transient', ...retryAfter, reason }
  const code = error.code ?? error.status
  if (code === 'SENDER_ID_MISMATCH' && !proven)
    return { kind: 'permanent', code, reason: `${reason}; is service_account that of another project?` }
  if (isDeviceError(code) || isBadToken(status, error)) return { kind: 'dead_token', at: calledAt, reason }
  if (status === 401 || status === 403 || status === 404 || status < 400) return { kind: 'misconfigured', reason }
  return { kind: 'permanent', code: error.status ?? String(status), reason }
}

/** Apple or a browser's push service rejected the credential that the project has there: ours is right. */
const thirdPartyCode = 'THIRD_PARTY_AUTH_ERROR'

/** Whether FCM rejected the access token, so that another may do. */
export function isTokenRejected(response: HttpResponse): boolean {
  const { code, status } = parseError(parseJsonObject(response)?.error)
  return response.status === 401 && (code ?? status) !== thirdPartyCode
}

/** The device is unregistered, or belongs to another project. */
function isDeviceError(code: string | undefined): boolean {
  return code === 'UNREGISTERED' || code === 'SENDER_ID_MISMATCH'
}

interface FcmError {
  /** FCM's own code, from the details. */
  readonly code: string | undefined
  /** The gRPC status. */
  readonly status: string | undefined
  readonly message: string
  /** The fields of the request that are invalid. */
  readonly fields: readonly unknown[]
  /** Whether it is Apple's refusal, passed on. */
  readonly isOfApple: boolean
  /** The limits that were exceeded, as JSON. */
  readonly limits: string
}

/**
 * INVALID_ARGUMENT is about the token if FCM's own code says so, or if the token is the only invalid field. An error in
 * any other field is one of the payload, as is one that FCM or Apple calls too large, and the device stays.
 */
function isBadToken(status: number, { code, message, fields, isOfApple }: FcmError): boolean {
  if (status !== 400 || (code !== 'INVALID_ARGUMENT' && fields.length === 0)) return false
  if (fields.length === 0) return !isOfApple && !/too (big|large|long)|payload/i.test(message)
  return fields.every((field) => field === 'message.token')
}

/** FCM limits projects and devices with the same code. */
function isDeviceLimit({ message, limits }: FcmError): boolean {
  return /\bdevice\b/i.test(message) || /\bdevice\b/i.test(limits)
}

function parseError(error: unknown): FcmError {
  const { status, message, details } = (error ?? {}) as { status?: unknown; message?: unknown; details?: unknown }
  const list = (Array.isArray(details) ? details : []) as Array<Record<string, unknown> | null>
  const ofType = (type: string) => list.find((each) => String(each?.['@type']).endsWith(type))
  const code = ofType('google.firebase.fcm.v1.FcmError')?.errorCode
  const violations = ofType('google.rpc.BadRequest')?.fieldViolations
  return {
    code: typeof code === 'string' ? code : undefined,
    status: typeof status === 'string' ? status : undefined,
    message: typeof message === 'string' ? message : '',
    fields: Array.isArray(violations) ? violations.map((each: { field?: unknown } | null) => each?.field) : [],
    isOfApple: ofType('google.firebase.fcm.v1.ApnsError') !== undefined,
    limits: JSON.stringify(ofType('google.rpc.QuotaFailure')?.violations ?? []),
  }
}
