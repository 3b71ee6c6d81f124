import type { SendResult } from '../model/send-result.ts'
import { describeResponse, type HttpResponse, parseJsonObject, retryAfterOf } from '../transport/http.ts'

/** Error codes of the account or sender, whatever the message. */
const accountCodes = new Set([20003, 20005, 20404, 21212, 21603, 21606, 21659, 21660, 21703, 21704, 30034])
/** Error codes of this number or text, whatever the status. */
const messageCodes = new Set([21408, 21602, 21610, 21612, 21617])
/** Error codes of numbers that no message can reach. */
const invalidNumberCodes = new Set([21211, 21214, 21217, 21421, 21614])
const optOutCode = 21610
const tooManyRequestsCode = 20429

/** The result of Twilio's response to a new message. */
export function resultOfResponse(response: HttpResponse, now: number): SendResult {
  if (response.status !== 201) return resultOfRejection(response, now)
  const sid = parseJsonObject(response)?.sid
  if (typeof sid === 'string' && sid.length <= 64) return { kind: 'accepted', providerMessageId: sid }
  return { kind: 'ambiguous', reason: `${describeResponse(response)}, which is not Twilio's` }
}

/** The result of an error response (twilio.com/docs/api/errors): its code decides, else its status. */
export function resultOfRejection(response: HttpResponse, now: number): SendResult {
  const { status } = response
  const code = parseCode(response)
  const reason = describeResponse(response)
  const retryAfter = retryAfterOf(response, now)
  if (status === 429 || code === tooManyRequestsCode)
    return { kind: 'rate_limited', ...retryAfter, accountWide: true, reason }
  if (status >= 500) return { kind: 'transient', ...retryAfter, reason }
  const rejected = { kind: 'permanent', code: String(code ?? status), reason } as const
  if (code === optOutCode) return { ...rejected, undeliverable: 'unsubscribed' }
  if (code !== undefined && invalidNumberCodes.has(code)) return { ...rejected, undeliverable: 'bounced' }
  if (code !== undefined && messageCodes.has(code)) return rejected
  const isAccount = status < 400 || [401, 403, 404].includes(status) || (code !== undefined && accountCodes.has(code))
  return isAccount ? { kind: 'misconfigured', reason } : rejected
}

function parseCode(response: HttpResponse): number | undefined {
  const code = parseJsonObject(response)?.code
  return typeof code === 'number' ? code : undefined
}
