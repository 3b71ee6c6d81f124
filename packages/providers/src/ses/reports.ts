import { parseTimestamp } from '../model/timestamp.ts'
import type { ReceivedWebhook, WebhookReceiver, WebhookReport } from '../model/webhook.ts'
import { createSns, isSnsSigned, readSnsMessage, type Sns, type SnsMessage, snsOrigin } from './sns.ts'

/** The tag that carries the delivery's id through SES, and back in its events. */
export const deliveryTag = 'delivery_id'

/** SNS tries a message again under the timestamp it had first. */
const toleranceMs = 3_600_000
/** A message of SNS's has 256 KiB; as JSON within JSON it may have twice as much and its envelope. */
const mostMessageBytes = 640 * 1024

/**
 * Takes SES's events by way of SNS: believes messages of the declared topics alone, signed by the certificate of SNS in
 * the topic's region, and confirms the subscription to those topics by itself.
 */
export function sesWebhook(
  topicArns: readonly string[],
  snsUrl: URL | undefined,
  callMs: number,
): WebhookReceiver & { close(): Promise<void> } {
  const origins = new Map(topicArns.map((arn) => [arn, snsUrl?.origin ?? snsOrigin(arn)]))
  const known = new Map([...new Set(origins.values())].map((origin) => [origin, createSns(new URL(origin), callMs)]))
  return {
    mostBytes: mostMessageBytes,
    async receive({ body }, now): Promise<ReceivedWebhook> {
      const message = readSnsMessage(body)
      if (!message) return refused('it is no signed message of SNS')
      const sns = known.get(origins.get(message.TopicArn) ?? '')
      if (!sns) return refused('its topic is not declared')
      const at = Date.parse(message.Timestamp)
      if (!(Math.abs(now - at) <= toleranceMs)) return refused('its Timestamp is not of the last hour')
      const key = await sns.keyAt(message.SigningCertURL, now)
      if (key === 'away') return { kind: 'unchecked', reason: 'SNS does not give its certificate', busy: false }
      if (key === 'busy') return { kind: 'unchecked', reason: 'too many certificates were asked for', busy: true }
      if (!key) return refused('its SigningCertURL is no valid certificate of SNS in the region of the topic')
      if (!(await isSnsSigned(message, key))) return refused('the signature is not by that certificate')
      return believed(message, sns, now)
    },
    async close() {
      await Promise.all([...known.values()].map((sns) => sns.close()))
    },
  }
}

async function believed(message: SnsMessage, sns: Sns, now: number): Promise<ReceivedWebhook> {
  if (message.Type === 'UnsubscribeConfirmation') return { kind: 'reports', reports: [] }
  if (message.Type === 'SubscriptionConfirmation') {
    if (await sns.confirm(message.SubscribeURL ?? '', message.TopicArn)) return { kind: 'reports', reports: [] }
    return { kind: 'malformed', reason: 'SubscribeURL does not lead to SNS, or is of another topic' }
  }
  const event = eventIn(message.Message)
  if (!event) return { kind: 'malformed', reason: 'Message must be an event of SES, in JSON' }
  return { kind: 'reports', reports: reportsOf(event, message.MessageId, now) }
}

interface Told {
  readonly timestamp?: unknown
}

interface Event {
  readonly eventType?: unknown
  /** In place of eventType where the event comes from an identity's feedback notifications. */
  readonly notificationType?: unknown
  readonly mail?: { readonly tags?: Readonly<Record<string, unknown>> }
  readonly delivery?: Told
  readonly open?: Told
  readonly click?: Told
  readonly complaint?: Told & { readonly complaintFeedbackType?: unknown }
  readonly bounce?: Told & {
    readonly bounceType?: unknown
    readonly bounceSubType?: unknown
    readonly bouncedRecipients?: ReadonlyArray<{ readonly diagnosticCode?: unknown } | null>
  }
  readonly reject?: { readonly reason?: unknown }
}

function eventIn(text: string): Event | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

type Meaning = Pick<WebhookReport, 'report' | 'soft' | 'reason'> & { readonly told?: Told | undefined }

/** Sends, delays, failed renderings and what we know nothing of mean nothing here. */
function meaningOf(event: Event): Meaning | undefined {
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
      return { report: 'bounced', soft: bounce?.bounceType !== 'Permanent', reason: whyBounced(bounce), told: bounce }
    case 'Reject':
      return { report: 'bounced', soft: true, reason: `SES rejected it: ${reject?.reason}` }
    default:
      return undefined
  }
}

function whyBounced(bounce: Event['bounce']): string {
  const [first] = bounce?.bouncedRecipients ?? []
  const code = first?.diagnosticCode
  return typeof code === 'string' ? code : `${bounce?.bounceType} ${bounce?.bounceSubType}`
}

function reportsOf(event: Event, eventId: string, now: number): WebhookReport[] {
  const meaning = meaningOf(event)
  const tag = event.mail?.tags?.[deliveryTag]
  const deliveryId: unknown = Array.isArray(tag) ? tag[0] : undefined
  if (!meaning || typeof deliveryId !== 'string') return []
  const { told, ...report } = meaning
  return [{ eventId, deliveryId, ...report, at: parseTimestamp(String(told?.timestamp)) ?? now }]
}

function refused(reason: string): ReceivedWebhook {
  return { kind: 'refused', reason }
}
