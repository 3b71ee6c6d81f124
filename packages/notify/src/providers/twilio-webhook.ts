import type { Secret } from '@gatehouse/kit'
import type { DeliveryReport } from '../delivery-state.ts'
import { hasTwilioSignature, isTwilioSigned } from './twilio-signature.ts'
import type { ReceivedWebhook, WebhookReceiver, WebhookReport } from './webhook.ts'

/** What a status of Twilio's says that we keep; of the others we know it already, or it says nothing final. */
const reports: Readonly<Record<string, DeliveryReport>> = {
  sent: 'acknowledged',
  delivered: 'delivered',
  read: 'opened',
  undelivered: 'bounced',
  failed: 'bounced',
}

/** Errors after which the number is no good: blocked, unknown, a landline, opted out, not a mobile number. */
const hard = new Set(['30004', '30005', '30006', '21610', '21211', '21614'])

const notOurs = 'X-Twilio-Signature is not ours'

/** Takes Twilio's status callbacks. The address they are sent to carries the delivery's id. */
export function twilioWebhook(authToken: Secret): WebhookReceiver {
  return {
    mostBytes: 64 * 1024,
    refusal: (headers) => (hasTwilioSignature(headers) ? undefined : notOurs),
    async receive(request, now): Promise<ReceivedWebhook> {
      if (!isTwilioSigned(authToken.reveal(), request)) return { kind: 'refused', reason: notOurs }
      const form = new URLSearchParams(request.body.toString('utf8'))
      const [sid, status] = [
        form.get('MessageSid') ?? form.get('SmsSid'),
        form.get('MessageStatus') ?? form.get('SmsStatus'),
      ]
      if (!sid || !status) return { kind: 'malformed', reason: 'MessageSid and MessageStatus are needed' }
      const report = reports[status]
      if (!report) return { kind: 'reports', reports: [] }
      const deliveryId = URL.parse(request.url)?.searchParams.get('delivery')
      return {
        kind: 'reports',
        reports: [{ ...reportOf(form, sid, status, report, now), ...(deliveryId ? { deliveryId } : {}) }],
      }
    },
  }
}

/** Twilio gives its callbacks no id: the message and its status are one, for a message has each status once. */
function reportOf(
  form: URLSearchParams,
  sid: string,
  status: string,
  report: DeliveryReport,
  now: number,
): WebhookReport {
  const code = form.get('ErrorCode')
  return {
    eventId: `${sid}.${status}`,
    report,
    at: now,
    ...(code ? { reason: `${status}, error ${code}` } : {}),
    ...(report === 'bounced' ? { soft: !hard.has(code ?? '') } : {}),
  }
}
