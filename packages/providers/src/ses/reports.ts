import type { ReadResult, Report, ReportReader } from '../model/report.ts'
import { parseTimestamp } from '../model/timestamp.ts'
import { createSnsClient, isSnsSigned, parseSnsMessage, type SnsClient, type SnsMessage, snsOriginOf } from './sns.ts'

/** The email tag that carries the delivery id to SES and back in its events. */
export const deliveryTag = 'delivery_id'

/** SNS retries a message with its original timestamp. */
const toleranceMs = 3_600_000
/** An SNS message has up to 256 KiB; escaped as JSON within JSON it can double, plus its envelope. */
const maxMessageBytes = 640 * 1024

/**
 * Creates the reader of SES events, which arrive over SNS. It accepts messages of the configured topics only, signed
 * with a certificate of SNS in the region of the topic, and confirms the subscription to these topics.
 */
export function createSesReportReader(
  topicArns: readonly string[],
  snsUrl: URL | undefined,
  timeoutMs: number,
): ReportReader {
  const origins = new Map(topicArns.map((arn) => [arn, snsUrl?.origin ?? snsOriginOf(arn)]))
  const known = new Map(
    [...new Set(origins.values())].map((origin) => [origin, createSnsClient(new URL(origin), timeoutMs)]),
  )
  return {
    maxBytes: maxMessageBytes,
    async read({ body }, now): Promise<ReadResult> {
      const message = parseSnsMessage(body)
      if (!message) return reject('it is not a signed message of SNS')
      const sns = known.get(origins.get(message.TopicArn) ?? '')
      if (!sns) return reject('its topic is not declared')
      const at = Date.parse(message.Timestamp)
      if (!(Math.abs(now - at) <= toleranceMs)) return reject('its Timestamp is not of the last hour')
      const key = await sns.fetchKey(message.SigningCertURL, now)
      if (key === 'unavailable')
        return { kind: 'unchecked', reason: 'SNS does not return its certificate', busy: false }
      if (key === 'busy') return { kind: 'unchecked', reason: 'too many certificates were requested', busy: true }
      if (!key) return reject('its SigningCertURL is not a valid certificate of SNS in the region of the topic')
      if (!(await isSnsSigned(message, key))) return reject('the signature is not by that certificate')
      return readVerified(message, sns, now)
    },
    async close() {
      await Promise.all([...known.values()].map((sns) => sns.close()))
    },
  }
}

async function readVerified(message: SnsMessage, sns: SnsClient, now: number): Promise<ReadResult> {
  if (message.Type === 'UnsubscribeConfirmation') return { kind: 'reports', reports: [] }
  if (message.Type === 'SubscriptionConfirmation') {
    if (await sns.confirmSubscription(message.SubscribeURL ?? '', message.TopicArn))
      return { kind: 'reports', reports: [] }
    return { kind: 'malformed', reason: 'SubscribeURL does not lead to SNS, or is of another topic' }
  }
  const event = parseEvent(message.Message)
  if (!event) return { kind: 'malformed', reason: 'Message must be an event of SES, in JSON' }
  return { kind: 'reports', reports: createReports(event, message.MessageId, now) }
}

/** The part of an event that depends on its type. */
interface EventDetails {
  readonly timestamp?: unknown
}

interface SesEvent {
  readonly eventType?: unknown
  /** Replaces `eventType` in the feedback notifications of an identity. */
  readonly notificationType?: unknown
  readonly mail?: { readonly tags?: Readonly<Record<string, unknown>> }
  readonly delivery?: EventDetails
  readonly open?: EventDetails
  readonly click?: EventDetails
  readonly complaint?: EventDetails & { readonly complaintFeedbackType?: unknown }
  readonly bounce?: EventDetails & {
    readonly bounceType?: unknown
    readonly bounceSubType?: unknown
    readonly bouncedRecipients?: ReadonlyArray<{ readonly diagnosticCode?: unknown } | null>
  }
  readonly reject?: { readonly reason?: unknown }
}

function parseEvent(text: string): SesEvent | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

type Interpretation = Pick<Report, 'report' | 'soft' | 'reason'> & { readonly details?: EventDetails | undefined }

/** Undefined for sends, delays, rendering failures and unknown types. */
function interpretEvent(event: SesEvent): Interpretation | undefined {
  const { delivery, open, click, complaint, bounce, reject } = event
  switch (event.eventType ?? event.notificationType) {
    case 'Delivery':
      return { report: 'delivered', details: delivery }
    case 'Open':
      return { report: 'opened', details: open }
    case 'Click':
      return { report: 'clicked', details: click }
    case 'Complaint':
      return complaint?.complaintFeedbackType === 'not-spam' ? undefined : { report: 'complained', details: complaint }
    case 'Bounce':
      return {
        report: 'bounced',
        soft: bounce?.bounceType !== 'Permanent',
        reason: bounceReason(bounce),
        details: bounce,
      }
    case 'Reject':
      return { report: 'bounced', soft: true, reason: `SES rejected it: ${reject?.reason}` }
    default:
      return undefined
  }
}

function bounceReason(bounce: SesEvent['bounce']): string {
  const [first] = bounce?.bouncedRecipients ?? []
  const code = first?.diagnosticCode
  return typeof code === 'string' ? code : `${bounce?.bounceType} ${bounce?.bounceSubType}`
}

function createReports(event: SesEvent, eventId: string, now: number): Report[] {
  const interpretation = interpretEvent(event)
  const tag = event.mail?.tags?.[deliveryTag]
  const deliveryId: unknown = Array.isArray(tag) ? tag[0] : undefined
  if (!interpretation || typeof deliveryId !== 'string') return []
  const { details, ...report } = interpretation
  return [{ eventId, deliveryId, ...report, at: parseTimestamp(String(details?.timestamp)) ?? now }]
}

function reject(reason: string): ReadResult {
  return { kind: 'rejected', reason }
}
