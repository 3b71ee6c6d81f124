import { isAddressGone, parseEnhancedCode } from '../mail/enhanced-code.ts'
import type { SendResult } from '../model/provider.ts'

/** What nodemailer throws. */
export interface SmtpError extends Error {
  readonly code?: string
  /** The code that a system error had before nodemailer gave it its own. */
  readonly originalCode?: string
  readonly response?: string
  readonly responseCode?: number
  readonly command?: string
}

/** Replies that ask us to authenticate, whatever the command (RFC 4954 §6). */
const ofAuthentication = new Set([530, 534, 535, 538])
/** The connection never came to be. */
const neverConnected = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'])
const beforeRecipient = new Set(['CONN', 'EHLO', 'HELO', 'LHLO', 'STARTTLS', 'MAIL FROM'])
const tooMuch = /\b(?:rate|too (?:many|much|fast)|throttl\w*|slow down|gr[ea]y-?list\w*|limit\w*|quota for)\b/i

/** What an error of a mail means (RFC 5321 §4.2, RFC 3463). */
export function resultOfError(error: SmtpError): SendResult {
  const { code, originalCode = '', response = '', responseCode, command } = error
  const reason = error.message.slice(0, 500)
  if (code === 'EAUTH')
    return isPassing(responseCode) ? { kind: 'transient', reason } : { kind: 'misconfigured', reason }
  if (code === 'ETLS') return { kind: 'misconfigured', reason }
  if (responseCode === undefined) return resultWithoutReply(code, originalCode, reason)
  const status = parseEnhancedCode(response)
  if (responseCode >= 500) return resultOfRejection(responseCode, status, response, command ?? '', reason)
  return isRateLimit(responseCode, status, response) ? { kind: 'rate_limited', reason } : { kind: 'transient', reason }
}

function resultWithoutReply(code: string | undefined, originalCode: string, reason: string): SendResult {
  if (code === 'EENVELOPE' || code === 'EMESSAGE') return { kind: 'permanent', code, reason }
  const isPassing = code === 'EDNS' || neverConnected.has(originalCode)
  return { kind: isPassing ? 'transient' : 'ambiguous', reason }
}

function isPassing(responseCode: number | undefined): boolean {
  return responseCode !== undefined && responseCode < 500
}

/** A server that wants us slower; a mailbox that is busy or full is the recipient's own matter. */
function isRateLimit(reply: number, status: string | undefined, text: string): boolean {
  if (reply !== 421 && reply !== 450 && reply !== 451 && reply !== 452) return false
  return (status?.startsWith('4.7.') ?? false) || tooMuch.test(text)
}

/**
 * A refusal before any recipient was named is one of us, whoever the mail is for (but for a mail that is too large). One
 * of the recipient makes the address undeliverable where it says that the address is not there.
 */
function resultOfRejection(
  reply: number,
  status: string | undefined,
  text: string,
  command: string,
  reason: string,
): SendResult {
  const isTooLarge = reply === 552 || status === '5.3.4' || status === '5.2.3'
  if ((beforeRecipient.has(command) || ofAuthentication.has(reply)) && !isTooLarge)
    return { kind: 'misconfigured', reason }
  const code = status ?? String(reply)
  const isGone = command === 'RCPT TO' && isAddressGone(status, text)
  return { kind: 'permanent', code, reason, ...(isGone ? { undeliverable: 'bounced' } : {}) }
}
