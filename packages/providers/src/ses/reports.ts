import type { ReadResult, Report, ReportReader } from '../model/report.ts'
import { parseTimestamp } from '../model/timestamp.ts'
import { createSnsClient, isSnsSigned, parseSnsMessage, type SnsClient, type SnsMessage, snsOriginOf } from './sns.ts'

/** The tag that carries the delivery's id through SES, and back in its events. */
export const deliveryTag = 'delivery_id'

/** SNS tries a message again under the timestamp it had first. */
const toleranceMs = 3_600_000
/** A message of SNS's has 256 KiB; as JSON within JSON it may have twice as much and its envelope. */
const maxMessageBytes = 640 * 1024

/**
 * Takes SES's events by way of SNS: believes messages of the declared topics alone, signed by the certificate of SNS in
 * the topic's region, and confirms the subscription to those topics by itself.
 */
export function createSesReportReader(
  topicArns: readonly string[],
  snsUrl: URL | undefined,
  callMs: number,
): ReportReader & { close(): Promise<void> } {
  const origins = new Map(topicArns.map((arn) => [arn, snsUrl?.origin ?? snsOriginOf(arn)]))
  const known = new Map(
    [...new Set(origins.values())].map((origin) => [origin, createSnsClient(new URL(origin), callMs)]),
  )
  return {
    maxBytes: maxMessageBytes,
    async read({ body }, now): Promise<ReadResult> {
      const message = parseSnsMessage(body)
      if (!message) return reject('it is no signed message of SNS')
      const sns = known.get(origins.get(message.TopicArn) ?? '')
      if (!sns) return reject('its topic is not declared')
      const at = Date.parse(message.Timestamp)
      if (!(Math.abs(now - at) <= toleranceMs)) return reject('its Timestamp is not of the last hour')
      const key = await sns.fetchKey(message.SigningCertURL, now)
      if (key === 'away') return { kind: 'unchecked', reason: 'SNS does not give its certificate', busy: false }
      if (key === 'busy') return { kind: 'unchecked', reason: 'too many certificates were asked for', busy: true }
      if (!key) return reject('its SigningCertURL is no valid certificate of SNS in the region of the topic')
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

interface EventDetails {
  readonly timestamp?: unknown
}

interface SesEvent {
  readonly eventType?: unknown
  /** In place of eventType where the event comes from an identity's feedback notifications. */
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

type Interpretation = Pick<Report, 'report' | 'soft' | 'reason'> & { readonly told?: EventDetails | undefined }

/** Sends, delays, failed renderings and what we know nothing of mean nothing here. */
function interpretEvent(event: SesEvent): Interpretation | undefined {
  const { delivery, open, click, complaint, bounce, reject } = event
  switch (event.eventType ?? event.notificationType) {
    case 'Delivery':
      return { report: 'delivered', told: delivery }
    case 'Open':
      return { report: 'opened', told: open }
    case 'Click':
      return { report: 'clicked', told: click }
    case 'Complaint':
      return complaint?.complaintFeedbackType === 'not-spam' ? undefined : { report: 'complained', told: complaint }
    case 'Bounce':
      return { report: 'bounced', soft: bounce?.bounceType !== 'Permanent', reason: bounceReason(bounce), told: bounce }
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
  const meaning = interpretEvent(event)
  const tag = event.mail?.tags?.[deliveryTag]
  const deliveryId: unknown = Array.isArray(tag) ? tag[0] : undefined
  if (!meaning || typeof deliveryId !== 'string') return []
  const { told, ...report } = meaning
  return [{ eventId, deliveryId, ...report, at: parseTimestamp(String(told?.timestamp)) ?? now }]
}

function reject(reason: string): ReadResult {
  return { kind: 'rejected', reason }
}
