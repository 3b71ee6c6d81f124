import { createHash } from 'node:crypto'
import { isAddressGone, parseEnhancedCode } from '../mail/enhanced-code.ts'
import { deliveryIdPattern } from '../model/delivery-id.ts'
import type { ReadResult, Report, ReportHeaders, ReportReader } from '../model/report.ts'
import { constantTimeEqual } from '../signature/equal.ts'
import { type MailReference, parseReturnedMail, type ReturnedMail } from './bounce-mail.ts'
import type { ReturnPaths } from './return-path.ts'

/**
 * Takes mail that came to a return path, as a mail server's pipe posts it: the raw message as `message/rfc822`, with the
 * secret as a bearer token, and in the query as `to` whom it was for, where the server knows that.
 */
export function createBounceReader(secret: string, returnPaths: ReturnPaths): ReportReader {
  const refusal = ({ authorization }: ReportHeaders) => {
    const [, token] = /^Bearer (.+)$/i.exec(String(authorization ?? '')) ?? []
    const isOurs = token !== undefined && constantTimeEqual(token, secret)
    return isOurs ? undefined : 'the bearer token is not the declared secret'
  }
  return {
    checkHeaders: refusal,
    async read({ headers, body, url }, now): Promise<ReadResult> {
      const reason = refusal(headers)
      if (reason !== undefined) return { kind: 'rejected', reason }
      if (!/^message\/rfc822\b/i.test(String(headers['content-type'] ?? '')))
        return { kind: 'malformed', reason: 'its content type must be message/rfc822' }
      const to = URL.parse(url)?.searchParams.getAll('to') ?? []
      const mail = parseReturnedMail(body)
      const deliveryId = mail.kind === 'other' ? undefined : findDelivery(mail.about, to, returnPaths)
      if (mail.kind !== 'other' && deliveryId !== undefined)
        return { kind: 'reports', reports: createReports(mail, deliveryId, now) }
      const unread = mail.kind === 'other' ? 'it is no notice that we can read' : 'it is about no mail of ours'
      const isNothing = mail.kind === 'other' && mail.isAutomatic
      return { kind: 'reports', reports: [], ...(isNothing ? {} : { unreadableReason: unread }) }
    },
  }
}

type Notice = Exclude<ReturnedMail, { kind: 'other' }>

function createReports(mail: Notice, deliveryId: string, now: number): Report[] {
  return interpretNotice(mail).map((meaning) => ({
    eventId: createEventId(mail.about, deliveryId, meaning),
    deliveryId,
    ...meaning,
    at: now,
  }))
}

type Interpretation = Pick<Report, 'report' | 'soft' | 'reason'>

/** Delays and relays are no end; a complaint that says the mail was no spam is none. */
function interpretNotice(mail: Notice): Interpretation[] {
  if (mail.kind === 'feedback') {
    if (mail.feedback === 'opt-out') return [{ report: 'unsubscribed' }]
    return mail.feedback === 'not-spam' || mail.feedback === '' ? [] : [{ report: 'complained', reason: mail.feedback }]
  }
  return mail.recipients.flatMap(({ action, status, diagnostic }): Interpretation[] => {
    if (action === 'delivered') return [{ report: 'delivered' }]
    if (action !== 'failed') return []
    const code = /^\d\.0\.0$/.test(status) ? (parseEnhancedCode(diagnostic) ?? undefined) : status || undefined
    return [{ report: 'bounced', soft: !isAddressGone(code, diagnostic), reason: `${status} ${diagnostic}`.trim() }]
  })
}

/** By a return path of ours, which nobody else can make; else by the Message-ID that we gave the mail. */
function findDelivery({ returnPaths: told, messageId }: MailReference, to: readonly string[], paths: ReturnPaths) {
  for (const address of [...to, ...told]) {
    const deliveryId = paths.parse(address)
    if (deliveryId !== undefined) return deliveryId
  }
  const [id = ''] = messageId?.split('@') ?? []
  return deliveryIdPattern.test(id) ? id : undefined
}

/** A notice that is handed over twice is one. */
function createEventId({ noticeId }: MailReference, deliveryId: string, { report, reason }: Interpretation): string {
  return createHash('sha256')
    .update(JSON.stringify([noticeId, deliveryId, report, reason]))
    .digest('base64url')
}
