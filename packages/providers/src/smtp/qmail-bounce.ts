import { parseEnhancedCode } from '../mail/enhanced-code.ts'

/** What qmail and its kin say of one recipient. */
interface FailedRecipient {
  readonly action: 'failed'
  readonly status: string
  readonly diagnostic: string
}

/** A bounce of qmail's, and the mail that came back with it. */
export interface QmailBounce {
  readonly recipients: readonly FailedRecipient[]
  readonly original: string
}

const maxRecipients = 100

/**
 * Reads the body of a bounce as qmail writes it (QSBMF, cr.yp.to/proto/qsbmf.txt): paragraphs, the first of which begins
 * with `Hi. This is the`, one for each recipient that begins with the address, and a line of dashes before the mail that
 * came back. Undefined for anything else.
 */
export function parseQmailBounce(body: string): QmailBounce | undefined {
  const paragraphs = body.replaceAll('\r\n', '\n').trimStart().split('\n\n')
  if (!paragraphs[0]?.startsWith('Hi. This is the')) return undefined
  const end = paragraphs.findIndex((paragraph) => paragraph.startsWith('-'))
  const listed = paragraphs.slice(1, end < 0 ? undefined : end)
  const recipients = listed.filter((paragraph) => /^<[^<>\n]*>:\n/.test(paragraph)).slice(0, maxRecipients)
  if (recipients.length === 0) return undefined
  return { recipients: recipients.map(parseRecipient), original: end < 0 ? '' : paragraphs.slice(end + 1).join('\n\n') }
}

function parseRecipient(paragraph: string): FailedRecipient {
  const diagnostic = paragraph.slice(paragraph.indexOf('\n') + 1).replace(/\s+/g, ' ')
  return { action: 'failed', status: parseEnhancedCode(diagnostic) ?? '', diagnostic }
}
