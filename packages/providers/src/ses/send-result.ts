import type { SendResult } from '../model/send-result.ts'
import { describeResponse, type HttpResponse, parseJsonObject, retryAfterOf } from '../transport/http.ts'

/**
 * Errors of the account, whatever the mail
 * (docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html#API_SendEmail_Errors).
 */
const accountErrors = new Set([
  'AccountSuspendedException',
  'SendingPausedException',
  'MailFromDomainNotVerifiedException',
  'NotFoundException',
  'AccessDeniedException',
  'SignatureDoesNotMatch',
  'InvalidSignatureException',
  'InvalidClientTokenId',
  'UnrecognizedClientException',
  'ExpiredTokenException',
  'ExpiredToken',
  'RequestExpired',
  'IncompleteSignature',
  'MissingAuthenticationToken',
])
const throttlingErrors = new Set([
  'TooManyRequestsException',
  'ThrottlingException',
  'Throttling',
  'LimitExceededException',
])

/** The result of SES's response to a mail to `address`. */
export function resultOfResponse(response: HttpResponse, address: string, now: number): SendResult {
  const { status } = response
  const body = parseJsonObject(response)
  if (status === 200) {
    const id = body?.MessageId
    if (typeof id === 'string') return { kind: 'accepted', providerMessageId: id }
    return { kind: 'ambiguous', reason: `${describeResponse(response)}, which is not SES's` }
  }
  const reason = describeResponse(response)
  const error = findError(response, body)
  const retryAfter = retryAfterOf(response, now)
  if (status === 429 || throttlingErrors.has(error))
    return { kind: 'rate_limited', ...retryAfter, accountWide: true, reason }
  if (status >= 500) return { kind: 'transient', ...retryAfter, reason }
  if (accountErrors.has(error) || status === 401 || status === 403 || status === 404 || status < 400)
    return { kind: 'misconfigured', reason }
  const text = String(body?.message ?? body?.Message ?? '')
  const isSenderUnverified = error === 'MessageRejected' && /not verified/i.test(text) && !text.includes(address)
  return isSenderUnverified ? { kind: 'misconfigured', reason } : { kind: 'permanent', code: error, reason }
}

/** The name of the error: in a header field as `Name:http://…`, or in the body as `namespace#Name`. */
function findError({ status, headers }: HttpResponse, body: Readonly<Record<string, unknown>> | undefined): string {
  const name = [headers['x-amzn-errortype']].flat()[0] ?? body?.__type ?? body?.code
  return typeof name === 'string' ? (name.split(':')[0]?.split('#').at(-1) ?? '') : String(status)
}
