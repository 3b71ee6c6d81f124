import type { DeliveryReport, ReceivedWebhook, WebhookReceiver, WebhookReport } from '../model/webhook.ts'
import { hasTwilioSignature, isTwilioSigned } from './signature.ts'

/** What a status of Twilio's says that we keep; of the others we know it already, or it says nothing final. */
const reports: Readonly<Record<string, DeliveryReport>> = {
  sent: 'acknowledged',
  delivered: 'delivered',
  read: 'opened',
  undelivered: 'bounced',
  failed: 'bounced',
}

/** Errors after which the number is no good: blocked, unknown, a landline, not a mobile number. */
const hard = new Set(['30004', '30005', '30006', '21211', '21614'])
const optedOut = '21610'

const notOurs = 'X-Twilio-Signature is not ours'

/** Takes Twilio's status callbacks. The address they are sent to carries the delivery's id. */
export function twilioWebhook(authToken: string): WebhookReceiver {
  return {
    mostBytes: 64 * 1024,
    refusal: (headers) => (hasTwilioSignature(headers) ? undefined : notOurs),
    async receive(request, now): Promise<ReceivedWebhook> {
      if (!isTwilioSigned(authToken, request)) return { kind: 'refused', reason: notOurs }
      const form = new URLSearchParams(request.body.toString('utf8'))
      const [sid, status] = [
        form.get('MessageSid') ?? form.get('SmsSid'),
        form.get('MessageStatus') ?? form.get('SmsStatus'),
      ]
      if (!sid || !status) return { kind: 'malformed', reason: 'MessageSid and MessageStatus are needed' }
      const report = reports[status]
      if (!report) return { kind: 'reports', reports: [] }
      const deliveryId = URL.parse(request.url)?.searchParams.get('delivery')
      const told = reportsOf(form, sid, status, report, now)
      return { kind: 'reports', reports: deliveryId ? told.map((each) => ({ ...each, deliveryId })) : told }
    },
  }
}

/** Twilio gives its callbacks no id: the message and its status are one, for a message has each status once. */
function reportsOf(
  form: URLSearchParams,
  sid: string,
  status: string,
  report: DeliveryReport,
  now: number,
): WebhookReport[] {
  const code = form.get('ErrorCode')
  const about = { at: now, ...(code ? { reason: `${status}, error ${code}` } : {}) }
  const eventId = `${sid}.${status}`
  if (report !== 'bounced') return [{ eventId, report, ...about }]
  const bounce = { eventId, report, ...about, soft: !hard.has(code ?? '') }
  return code === optedOut ? [bounce, { eventId: `${eventId}.stop`, report: 'unsubscribed', ...about }] : [bounce]
}
