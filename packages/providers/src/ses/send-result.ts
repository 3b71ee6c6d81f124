import type { SendResult } from '../model/provider.ts'
import { describeResponse, type HttpResponse, parseJsonObject, parseRetryAfter } from '../transport/http.ts'

/** Errors of our account, whoever the mail is for (docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html#API_SendEmail_Errors). */
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

/** What an answer of SES's means for a mail to `address`. */
export function resultOfResponse(answer: HttpResponse, address: string, now: number): SendResult {
  const { status } = answer
  const body = parseJsonObject(answer)
  const reason = describeResponse(answer)
  if (status === 200) {
    const id = body?.MessageId
    return { kind: 'accepted', ...(typeof id === 'string' ? { providerMessageId: id } : {}) }
  }
  const error = findError(answer, body)
  const pause = parseRetryAfter(answer, now)
  const retryAfter = pause === undefined ? {} : { retryAfterMs: pause }
  if (status === 429 || throttlingErrors.has(error))
    return { kind: 'rate_limited', ...retryAfter, accountWide: true, reason }
  if (status >= 500) return { kind: 'transient', ...retryAfter, reason }
  if (accountErrors.has(error) || status === 401 || status === 403 || status === 404 || status < 400)
    return { kind: 'misconfigured', reason }
  const text = String(body?.message ?? body?.Message ?? '')
  const isOurSender = error === 'MessageRejected' && /not verified/i.test(text) && !text.includes(address)
  return isOurSender ? { kind: 'misconfigured', reason } : { kind: 'permanent', code: error, reason }
}

/** The error's name: in a header field, `Name:http://…`, or in the body, `namespace#Name`. */
function findError({ status, headers }: HttpResponse, body: Readonly<Record<string, unknown>> | undefined): string {
  const name = [headers['x-amzn-errortype']].flat()[0] ?? body?.__type ?? body?.code
  return typeof name === 'string' ? (name.split(':')[0]?.split('#').at(-1) ?? '') : String(status)
}
