import { createPublicKey, type KeyObject } from 'node:crypto'
import { isAddressGone } from '../mail/status-code.ts'
import type { ReceivedWebhook, WebhookHeaders, WebhookReceiver, WebhookReport } from '../model/webhook.ts'
import { isSignedBy } from '../signature/verify.ts'

const signatureField = 'x-twilio-email-event-webhook-signature'
const timestampField = 'x-twilio-email-event-webhook-timestamp'

/**
 * Takes SendGrid's signed event webhook (twilio.com/docs/sendgrid/for-developers/tracking-events): ECDSA with P-256 and
 * SHA-256 over the timestamp and the raw body. Throws RangeError when `publicKey` is none.
 */
export function sendgridWebhook(publicKey: string, toleranceSeconds: number): WebhookReceiver {
  const key = readKey(publicKey)
  return {
    refusal: (headers, now) => faultOf(headers, toleranceSeconds, now),
    async receive({ headers, body }, now): Promise<ReceivedWebhook> {
      const reason = faultOf(headers, toleranceSeconds, now)
      if (reason !== undefined) return { kind: 'refused', reason }
      const signature = Buffer.from(String(headers[signatureField]), 'base64')
      const signed = Buffer.concat([Buffer.from(String(headers[timestampField])), body])
      if (await isSignedBy(key, 'sha256', signed, signature)) return readEvents(body, now)
      return { kind: 'refused', reason: 'the signature is not by the declared key' }
    },
  }
}

/** A signature of P-256 in DER has 72 bytes at most, 96 letters of base64. */
const longestSignature = 96

function faultOf(headers: WebhookHeaders, toleranceSeconds: number, now: number): string | undefined {
  const { [signatureField]: signature, [timestampField]: timestamp } = headers
  if (typeof signature !== 'string' || typeof timestamp !== 'string')
    return `${signatureField} and ${timestampField} are needed`
  if (!/^\d{9,11}$/.test(timestamp) || Math.abs(now - Number(timestamp) * 1_000) > toleranceSeconds * 1_000)
    return `${timestampField} is not of the last ${toleranceSeconds} seconds`
  return signature.length > longestSignature ? 'the signature is not by the declared key' : undefined
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
