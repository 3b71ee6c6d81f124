import { isAddressInvalid, parseEnhancedCode } from '../mail/enhanced-code.ts'
import type { SendResult } from '../model/send-result.ts'
import { startTlsRefused } from './starttls.ts'

/** The errors of nodemailer. */
export interface SmtpError extends Error {
  readonly code?: string
  /** The code of the system error that caused it. */
  readonly originalCode?: string
  /** The reply of the server. */
  readonly response?: string
  readonly responseCode?: number
  /** The command that was replied to. */
  readonly command?: string
}

/** Replies that require authentication, to whatever command (RFC 4954 §6). */
const authenticationCodes = new Set([530, 534, 535, 538])
/** Errors of Node and OpenSSL when a certificate cannot be verified, or the server does not speak TLS. */
const tlsFailure = /CERT|^(?:ERR_SSL_|UNABLE_TO_|INVALID_CA$|INVALID_PURPOSE$|PATH_LENGTH_|HOSTNAME_MISMATCH$)/
const commandsBeforeRecipient = new Set(['CONN', 'EHLO', 'HELO', 'LHLO', 'STARTTLS', 'MAIL FROM'])
const rateLimitText = /\b(?:rate|too (?:many|much|fast)|throttl\w*|slow down|gr[ea]y-?list\w*|limit\w*|quota for)\b/i

/** What of a mail was done before it failed, and by which rule. */
export interface SendAttempt {
  /** False if nothing of its text was sent, so that it cannot have been accepted. */
  readonly hasBegun: boolean
  readonly requiresStartTls: boolean
}

/** The result of a mail that failed with an error (RFC 5321 §4.2, RFC 3463). */
export function resultOfError(error: SmtpError, { hasBegun, requiresStartTls }: SendAttempt): SendResult {
  const { code, originalCode = '', responseCode } = error
  const isRefused = requiresStartTls && isStartTlsRefusal(error)
  const reason = `${isRefused ? `${startTlsRefused}: ` : ''}${reasonOf(error)}`.slice(0, 500)
  if (code === 'EAUTH') return { kind: isTemporary(responseCode) ? 'transient' : 'misconfigured', reason }
  if (code === 'ETLS' || (!hasBegun && tlsFailure.test(originalCode))) return { kind: 'misconfigured', reason }
  if (responseCode === undefined) {
    if (code === 'EENVELOPE' || code === 'EMESSAGE') return { kind: 'permanent', code, reason }
    return { kind: hasBegun ? 'ambiguous' : 'transient', reason }
  }
  const reply = { reply: responseCode, text: error.response ?? '', command: error.command ?? '', reason }
  return responseCode >= 500 ? resultOfRejection(reply) : resultOfTemporaryFailure(reply)
}

/** Of a mail that was given up, why: nodemailer itself says only that it was. */
function reasonOf({ code, message, cause }: SmtpError): string {
  return code === 'EABORT' && cause instanceof Error ? cause.message : message
}

/** Also by a server that knows no extensions at all. */
function isStartTlsRefusal({ command, responseCode = 0 }: SmtpError): boolean {
  return responseCode >= 400 && (command === 'STARTTLS' || (command === 'EHLO' && responseCode >= 500))
}

function isTemporary(reply: number | undefined): boolean {
  return reply !== undefined && reply < 500
}

interface Reply {
  /** The reply code. */
  readonly reply: number
  readonly text: string
  readonly command: string
  readonly reason: string
}

/** 4xx. A server that limits our rate is a rate limit; a busy or full mailbox concerns its recipient only. */
function resultOfTemporaryFailure({ reply, text, reason }: Reply): SendResult {
  const canBeRateLimit = reply === 421 || reply === 450 || reply === 451 || reply === 452
  const isPolicy = parseEnhancedCode(text)?.startsWith('4.7.') ?? false
  return { kind: canBeRateLimit && (isPolicy || rateLimitText.test(text)) ? 'rate_limited' : 'transient', reason }
}

/**
 * 5xx. Before a recipient was named the server rejects the sender, unless the mail is too large. A rejected recipient is
 * undeliverable if the reply says that the address is invalid.
 */
function resultOfRejection({ reply, text, command, reason }: Reply): SendResult {
  const code = parseEnhancedCode(text)
  const isTooLarge = reply === 552 || code === '5.3.4' || code === '5.2.3'
  if ((commandsBeforeRecipient.has(command) || authenticationCodes.has(reply)) && !isTooLarge)
    return { kind: 'misconfigured', reason }
  const isInvalid = command === 'RCPT TO' && isAddressInvalid(code, text)
  return {
    kind: 'permanent',
    code: code ?? String(reply),
    reason,
    ...(isInvalid ? { undeliverable: 'bounced' } : {}),
  }
}
