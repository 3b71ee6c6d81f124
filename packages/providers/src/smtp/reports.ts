import { createHash } from 'node:crypto'
import { enhancedCode, isAddressGone } from '../mail/status-code.ts'
import { deliveryIdPattern } from '../model/delivery-id.ts'
import type { ReceivedWebhook, WebhookHeaders, WebhookReceiver, WebhookReport } from '../model/webhook.ts'
import { constantTimeEqual } from '../signature/equal.ts'
import { type AboutMail, type ReturnedMail, readReturnedMail } from './bounce-mail.ts'
import type { ReturnPaths } from './return-path.ts'

/**
 * Takes mail that came to a return path, as a mail server's pipe posts it: the raw message as `message/rfc822`, with the
 * secret as a bearer token, and in the query as `to` whom it was for, where the server knows that.
 */
export function bounceWebhook(secret: string, returnPaths: ReturnPaths): WebhookReceiver {
  const refusal = ({ authorization }: WebhookHeaders) => {
    const [, token] = /^Bearer (.+)$/i.exec(String(authorization ?? '')) ?? []
    const isOurs = token !== undefined && constantTimeEqual(token, secret)
    return isOurs ? undefined : 'the bearer token is not the declared secret'
  }
  return {
    refusal,
    async receive({ headers, body, url }, now): Promise<ReceivedWebhook> {
      const reason = refusal(headers)
      if (reason !== undefined) return { kind: 'refused', reason }
      if (!/^message\/rfc822\b/i.test(String(headers['content-type'] ?? '')))
        return { kind: 'malformed', reason: 'its content type must be message/rfc822' }
      const to = URL.parse(url)?.searchParams.getAll('to') ?? []
      const mail = readReturnedMail(body)
      const deliveryId = mail.kind === 'other' ? undefined : deliveryOf(mail.about, to, returnPaths)
      if (mail.kind !== 'other' && deliveryId !== undefined)
        return { kind: 'reports', reports: reportsOf(mail, deliveryId, now) }
      const unread = mail.kind === 'other' ? 'it is no notice that we can read' : 'it is about no mail of ours'
      const isNothing = mail.kind === 'other' && mail.isAutomatic
      return { kind: 'reports', reports: [], ...(isNothing ? {} : { unread }) }
    },
  }
}

type Notice = Exclude<ReturnedMail, { kind: 'other' }>

function reportsOf(mail: Notice, deliveryId: string, now: number): WebhookReport[] {
  return meaningsOf(mail).map((meaning) => ({
    eventId: eventId(mail.about, deliveryId, meaning),
    deliveryId,
    ...meaning,
    at: now,
  }))
}

type Meaning = Pick<WebhookReport, 'report' | 'soft' | 'reason'>

/** Delays and relays are no end; a complaint that says the mail was no spam is none. */
function meaningsOf(mail: Notice): Meaning[] {
  if (mail.kind === 'feedback') {
    if (mail.feedback === 'opt-out') return [{ report: 'unsubscribed' }]
    return mail.feedback === 'not-spam' || mail.feedback === '' ? [] : [{ report: 'complained', reason: mail.feedback }]
  }
  return mail.recipients.flatMap(({ action, status, diagnostic }): Meaning[] => {
    if (action === 'delivered') return [{ report: 'delivered' }]
    if (action !== 'failed') return []
    const code = /^\d\.0\.0$/.test(status) ? (enhancedCode(diagnostic) ?? undefined) : status || undefined
    return [{ report: 'bounced', soft: !isAddressGone(code, diagnostic), reason: `${status} ${diagnostic}`.trim() }]
  })
}

/** By a return path of ours, which nobody else can make; else by the Message-ID that we gave the mail. */
function deliveryOf({ returnPaths: told, messageId }: AboutMail, to: readonly string[], paths: ReturnPaths) {
  for (const address of [...to, ...told]) {
    const deliveryId = paths.deliveryOf(address)
    if (deliveryId !== undefined) return deliveryId
  }
  const [id = ''] = messageId?.split('@') ?? []
  return deliveryIdPattern.test(id) ? id : undefined
}

/** A notice that is handed over twice is one. */
function eventId({ noticeId }: AboutMail, deliveryId: string, { report, reason }: Meaning): string {
  return createHash('sha256')
    .update(JSON.stringify([noticeId, deliveryId, report, reason]))
    .digest('base64url')
}
