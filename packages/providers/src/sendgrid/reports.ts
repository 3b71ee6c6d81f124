import { createPublicKey, type KeyObject } from 'node:crypto'
import { isAddressInvalid } from '../mail/enhanced-code.ts'
import type { ReadResult, Report, ReportHeaders, ReportReader } from '../model/report.ts'
import { verifySignature } from '../signature/verify-signature.ts'

const signatureField = 'x-twilio-email-event-webhook-signature'
const timestampField = 'x-twilio-email-event-webhook-timestamp'

/**
 * Creates the reader of SendGrid's signed event webhook (twilio.com/docs/sendgrid/for-developers/tracking-events): ECDSA
 * with P-256 and SHA-256 over the timestamp and the raw body.
 * @throws RangeError if `publicKey` is not a key
 */
export function createSendgridReportReader(publicKey: string, toleranceSeconds: number): ReportReader {
  const key = parseKey(publicKey)
  return {
    checkHeaders: (headers, now) => checkSignatureHeaders(headers, toleranceSeconds, now),
    async read({ headers, body }, now): Promise<ReadResult> {
      const reason = checkSignatureHeaders(headers, toleranceSeconds, now)
      if (reason !== undefined) return { kind: 'rejected', reason }
      const signature = Buffer.from(String(headers[signatureField]), 'base64')
      const signed = Buffer.concat([Buffer.from(String(headers[timestampField])), body])
      if (await verifySignature(key, 'sha256', signed, signature)) return parseEvents(body, now)
      return { kind: 'rejected', reason: 'the signature is not by the declared key' }
    },
  }
}

/** A P-256 signature in DER has at most 72 bytes, 96 characters of base64. */
const maxSignatureLength = 96

function checkSignatureHeaders(headers: ReportHeaders, toleranceSeconds: number, now: number): string | undefined {
  const { [signatureField]: signature, [timestampField]: timestamp } = headers
  if (typeof signature !== 'string' || typeof timestamp !== 'string')
    return `${signatureField} and ${timestampField} are needed`
  if (!/^\d{9,11}$/.test(timestamp) || Math.abs(now - Number(timestamp) * 1_000) > toleranceSeconds * 1_000)
    return `${timestampField} is not of the last ${toleranceSeconds} seconds`
  return signature.length > maxSignatureLength ? 'the signature is not by the declared key' : undefined
}

function parseKey(text: string): KeyObject {
  try {
    const key = createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' })
    if (key.asymmetricKeyType === 'ec') return key
  } catch {
    // the error is thrown below
  }
  throw new RangeError("webhook_public_key must be the verification key as SendGrid's settings show it")
}

interface SendgridEvent {
  readonly event?: unknown
  readonly sg_event_id?: unknown
  readonly delivery_id?: unknown
  readonly timestamp?: unknown
  readonly type?: unknown
  readonly status?: unknown
  readonly reason?: unknown
  readonly sg_machine_open?: unknown
}

function parseEvents(body: Buffer, now: number): ReadResult {
  const events = parseJsonArray(body)
  if (!events) return { kind: 'malformed', reason: 'it must be a JSON array of events' }
  return { kind: 'reports', reports: events.flatMap((event) => createReports((event ?? {}) as SendgridEvent, now)) }
}

function parseJsonArray(body: Buffer): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

type Interpretation = Pick<Report, 'report' | 'soft'>

/** No interpretation for unknown events and those that are not final (processed, deferred). */
function interpretEvent({
  event,
  type,
  status,
  reason,
  sg_machine_open: byMachine,
}: SendgridEvent): readonly Interpretation[] {
  const code = typeof status === 'string' && /^\d\.\d+\.\d+$/.test(status) ? status : undefined
  const text = String(reason ?? '')
  switch (event) {
    case 'delivered':
      return [{ report: 'delivered' }]
    case 'open':
      return byMachine === true ? [] : [{ report: 'opened' }]
    case 'click':
      return [{ report: 'clicked' }]
    case 'bounce':
      return [{ report: 'bounced', soft: type === 'blocked' || (code !== undefined && !isAddressInvalid(code, text)) }]
    case 'dropped':
      return interpretDrop(text)
    case 'spamreport':
      return [{ report: 'complained' }]
    case 'unsubscribe':
    case 'group_unsubscribe':
      return [{ report: 'unsubscribed' }]
    default:
      return []
  }
}

/** SendGrid did not send the mail, because the address is on one of its suppression lists. */
function interpretDrop(reason: string): readonly Interpretation[] {
  if (/unsubscribed/i.test(reason)) return [{ report: 'bounced', soft: true }, { report: 'unsubscribed' }]
  if (/spam report/i.test(reason)) return [{ report: 'complained' }]
  return [{ report: 'bounced', soft: !/bounced address|^invalid/i.test(reason) }]
}

function createReports(event: SendgridEvent, now: number): Report[] {
  const { sg_event_id: id, delivery_id: deliveryId, timestamp, reason } = event
  if (typeof id !== 'string' || typeof deliveryId !== 'string') return []
  const at = typeof timestamp === 'number' ? timestamp * 1_000 : now
  return interpretEvent(event).map((interpretation, index) => ({
    eventId: index === 0 ? id : `${id}.${index}`,
    deliveryId,
    ...interpretation,
    at,
    ...(typeof reason === 'string' ? { reason } : {}),
  }))
}
