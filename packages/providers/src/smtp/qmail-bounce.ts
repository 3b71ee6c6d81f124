import { parseEnhancedCode } from '../mail/enhanced-code.ts'

/** What a qmail bounce says about one recipient. */
interface FailedRecipient {
  readonly action: 'failed'
  readonly status: string
  readonly diagnostic: string
}

/** A bounce in the format of qmail. */
export interface QmailBounce {
  readonly recipients: readonly FailedRecipient[]
  /** The mail that bounced. */
  readonly original: string
}

const maxRecipients = 100

/**
 * Parses the body of a qmail bounce (QSBMF, cr.yp.to/proto/qsbmf.txt): paragraphs, the first of which begins with `Hi.
 * This is the`, then one for each recipient that begins with the address, and a line of dashes before the mail that
 * bounced. Undefined for anything else.
 */
export function parseQmailBounce(body: string): QmailBounce | undefined {
  const paragraphs = body.replaceAll('\r\n', '\n').trimStart().split('\n\n')
  if (!paragraphs[0]?.startsWith('Hi. This is the')) return undefined
  const end = paragraphs.findIndex((paragraph) => paragraph.startsWith('-'))
  const recipients = paragraphs
    .slice(1, end < 0 ? undefined : end)
    .filter((paragraph) => /^<[^<>\n]*>:\n/.test(paragraph))
    .slice(0, maxRecipients)
  if (recipients.length === 0) return undefined
  const original = end < 0 ? '' : paragraphs.slice(end + 1).join('\n\n')
  return { recipients: recipients.map(parseRecipient), original }
}

function parseRecipient(paragraph: string): FailedRecipient {
  const diagnostic = paragraph.slice(paragraph.indexOf('\n') + 1).replace(/\s+/g, ' ')
  return { action: 'failed', status: parseEnhancedCode(diagnostic) ?? '', diagnostic }
}
