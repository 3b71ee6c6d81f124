import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { isAddressGone } from './smtp-status.ts'
import type { ReceivedWebhook, WebhookReceiver, WebhookReport } from './webhook.ts'

const signatureField = 'x-twilio-email-event-webhook-signature'
const timestampField = 'x-twilio-email-event-webhook-timestamp'

/**
 * Takes SendGrid's signed event webhook (twilio.com/docs/sendgrid/for-developers/tracking-events): ECDSA with P-256 and
 * SHA-256 over the timestamp and the raw body. Throws RangeError when `publicKey` is none.
 */
export function sendgridWebhook(publicKey: string, toleranceSeconds: number): WebhookReceiver {
  const key = readKey(publicKey)
  return {
    async receive({ headers, body }, now): Promise<ReceivedWebhook> {
      const { [signatureField]: signature, [timestampField]: timestamp } = headers
      if (typeof signature !== 'string' || typeof timestamp !== 'string')
        return refused(`${signatureField} and ${timestampField} are needed`)
      if (!/^\d{9,11}$/.test(timestamp) || Math.abs(now - Number(timestamp) * 1_000) > toleranceSeconds * 1_000)
        return refused(`${timestampField} is not of the last ${toleranceSeconds} seconds`)
      if (!isSigned(key, timestamp, body, signature)) return refused('the signature is not by the declared key')
      return readEvents(body, now)
    },
  }
}

function readKey(text: string): KeyObject {
  try {
    const key = createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' })
    if (key.asymmetricKeyType === 'ec') return key
  } catch {
    // told below
  }
  throw new RangeError("webhook_public_key must be the verification key as SendGrid's settings show it")
}

function isSigned(key: KeyObject, timestamp: string, body: Buffer, signature: string): boolean {
  if (signature.length > 200) return false
  try {
    return verify('sha256', Buffer.concat([Buffer.from(timestamp), body]), key, Buffer.from(signature, 'base64'))
  } catch {
    return false
  }
}

interface Event {
  readonly event?: unknown
  readonly sg_event_id?: unknown
  readonly delivery_id?: unknown
  readonly timestamp?: unknown
  readonly type?: unknown
  readonly status?: unknown
  readonly reason?: unknown
  readonly sg_machine_open?: unknown
}

function readEvents(body: Buffer, now: number): ReceivedWebhook {
  const events = jsonArray(body)
  if (!events) return { kind: 'malformed', reason: 'it must be a JSON array of events' }
  return { kind: 'reports', reports: events.flatMap((event) => reportsOf((event ?? {}) as Event, now)) }
}

function jsonArray(body: Buffer): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

type Meaning = Pick<WebhookReport, 'report' | 'soft'>

/** Events on the way (processed, deferred) and those that we know nothing of mean nothing here. */
function meaningOf({ event, type, status, reason, sg_machine_open: byMachine }: Event): readonly Meaning[] {
  const code = typeof status === 'string' && /^\d\.\d+\.\d+$/.test(status) ? status : undefined
  const said = String(reason ?? '')
  switch (event) {
    case 'delivered':
      return [{ report: 'delivered' }]
    case 'open':
      return byMachine === true ? [] : [{ report: 'opened' }]
    case 'click':
      return [{ report: 'clicked' }]
    case 'bounce':
      return [{ report: 'bounced', soft: type === 'blocked' || (code !== undefined && !isAddressGone(code, said)) }]
    case 'dropped':
      return dropped(said)
    case 'spamreport':
      return [{ report: 'complained' }]
    case 'unsubscribe':
    case 'group_unsubscribe':
      return [{ report: 'unsubscribed' }]
    default:
      return []
  }
}

/** SendGrid did not even try, since the address is on a list of its own. */
function dropped(reason: string): readonly Meaning[] {
  if (/unsubscribed/i.test(reason)) return [{ report: 'bounced', soft: true }, { report: 'unsubscribed' }]
  if (/spam report/i.test(reason)) return [{ report: 'complained' }]
  return [{ report: 'bounced', soft: !/bounced address|^invalid/i.test(reason) }]
}

function reportsOf(event: Event, now: number): WebhookReport[] {
  const { sg_event_id: id, delivery_id: deliveryId, timestamp, reason } = event
  if (typeof id !== 'string' || typeof deliveryId !== 'string') return []
  const at = typeof timestamp === 'number' ? timestamp * 1_000 : now
  return meaningOf(event).map((meaning, index) => ({
    eventId: index === 0 ? id : `${id}.${index}`,
    deliveryId,
    ...meaning,
    at,
    ...(typeof reason === 'string' ? { reason } : {}),
  }))
}

function refused(reason: string): ReceivedWebhook {
  return { kind: 'refused', reason }
}
