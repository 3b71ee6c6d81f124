import { createHash } from 'node:crypto'
import { isAddressInvalid, parseEnhancedCode } from '../mail/enhanced-code.ts'
import { deliveryIdPattern } from '../model/delivery-id.ts'
import type { ReadResult, Report, ReportHeaders, ReportReader } from '../model/report.ts'
import { constantTimeEqual } from '../signature/equal.ts'
import { type MailReference, parseReturnedMail, type ReturnedMail } from './bounce-mail.ts'
import type { ReturnPaths } from './return-path.ts'

/**
 * Creates the reader of bounces and complaints: mail received at a return path, which the mail server posts as raw
 * `message/rfc822` with the secret as bearer token, and the envelope recipient as query parameter `to` if it is known.
 */
export function createBounceReader(secret: string, returnPaths: ReturnPaths): ReportReader {
  const checkHeaders = ({ authorization }: ReportHeaders) => {
    const [, token] = /^Bearer (.+)$/i.exec(String(authorization ?? '')) ?? []
    const isValid = token !== undefined && constantTimeEqual(token, secret)
    return isValid ? undefined : 'the bearer token is not the declared secret'
  }
  return {
    checkHeaders,
    async read({ headers, body, url }, now): Promise<ReadResult> {
      const reason = checkHeaders(headers)
      if (reason !== undefined) return { kind: 'rejected', reason }
      if (!/^message\/rfc822\b/i.test(String(headers['content-type'] ?? '')))
        return { kind: 'malformed', reason: 'its content type must be message/rfc822' }
      const to = URL.parse(url)?.searchParams.getAll('to') ?? []
      const mail = parseReturnedMail(body)
      if (mail.kind === 'other')
        return mail.isAutomatic ? { kind: 'reports', reports: [] } : withoutReports('its format is unknown')
      const deliveryId = findDelivery(mail.about, to, returnPaths)
      if (deliveryId === undefined) return withoutReports('it refers to no known mail')
      return { kind: 'reports', reports: createReports(mail, deliveryId, now) }
    },
  }
}

function withoutReports(unreadableReason: string): ReadResult {
  return { kind: 'reports', reports: [], unreadableReason }
}

/** A notification that refers to a mail. */
type Notice = Exclude<ReturnedMail, { kind: 'other' }>

function createReports(mail: Notice, deliveryId: string, now: number): Report[] {
  return interpretNotice(mail).map((interpretation) => ({
    eventId: createEventId(mail.about, deliveryId, interpretation),
    deliveryId,
    ...interpretation,
    at: now,
  }))
}

type Interpretation = Pick<Report, 'report' | 'soft' | 'reason'>

/** Delays and relays are not final. A feedback report of type `not-spam` is not a complaint. */
function interpretNotice(mail: Notice): Interpretation[] {
  if (mail.kind === 'feedback') {
    if (mail.feedback === 'opt-out') return [{ report: 'unsubscribed' }]
    return mail.feedback === 'not-spam' || mail.feedback === '' ? [] : [{ report: 'complained', reason: mail.feedback }]
  }
  return mail.recipients.flatMap(({ action, status, diagnostic }): Interpretation[] => {
    if (action === 'delivered') return [{ report: 'delivered' }]
    if (action !== 'failed') return []
    const code = /^\d\.0\.0$/.test(status) ? (parseEnhancedCode(diagnostic) ?? undefined) : status || undefined
    return [{ report: 'bounced', soft: !isAddressInvalid(code, diagnostic), reason: `${status} ${diagnostic}`.trim() }]
  })
}

/** The delivery of a return path, which cannot be forged, else that of the Message-ID. */
function findDelivery({ returnPaths, messageId }: MailReference, to: readonly string[], paths: ReturnPaths) {
  for (const address of [...to, ...returnPaths]) {
    const deliveryId = paths.parse(address)
    if (deliveryId !== undefined) return deliveryId
  }
  const [id = ''] = messageId?.split('@') ?? []
  return deliveryIdPattern.test(id) ? id : undefined
}

/** The same for a notification that is posted twice. */
function createEventId({ noticeId }: MailReference, deliveryId: string, { report, reason }: Interpretation): string {
  return createHash('sha256')
    .update(JSON.stringify([noticeId, deliveryId, report, reason]))
    .digest('base64url')
}
