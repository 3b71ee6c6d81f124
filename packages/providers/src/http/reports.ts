import { deliveryIdPattern } from '../model/delivery-id.ts'
import { parseTimestamp, timestampExpected } from '../model/timestamp.ts'
import type { DeliveryReport, ReceivedWebhook, WebhookReceiver, WebhookRequest } from '../model/webhook.ts'
import { checkWebhook, webhookFault } from './standard-webhooks.ts'

const reports: Readonly<Record<string, DeliveryReport>> = {
  'message.delivered': 'delivered',
  'message.opened': 'opened',
  'message.clicked': 'clicked',
  'message.bounced': 'bounced',
  'message.complained': 'complained',
}

/**
 * Takes reports of the generic provider: `{"type": "message.delivered", "timestamp", "data": {"delivery_id", "reason"?,
 * "soft"?}}`, signed as Standard Webhooks says; `webhook-id` is the id of the report. Types that we don't know are left.
 */
export function httpWebhook(keys: readonly Buffer[]): WebhookReceiver {
  return {
    refusal: webhookFault,
    async receive({ headers, body }: WebhookRequest, now): Promise<ReceivedWebhook> {
      const checked = checkWebhook(keys, headers, body, now)
      if (checked.kind === 'refused') return checked
      const event = eventIn(body)
      if (typeof event?.type !== 'string') return malformed('type is needed')
      const report = reports[event.type]
      if (!report) return { kind: 'reports', reports: [] }
      const { delivery_id: deliveryId, reason, soft } = event.data ?? {}
      if (typeof deliveryId !== 'string' || !deliveryIdPattern.test(deliveryId))
        return malformed('data.delivery_id must be the delivery_id of a message')
      const at = event.timestamp === undefined ? checked.at : timeOf(event.timestamp)
      if (at === undefined) return malformed(`timestamp ${timestampExpected}`)
      const said = {
        ...(typeof reason === 'string' ? { reason: reason.slice(0, 500) } : {}),
        ...(typeof soft === 'boolean' ? { soft } : {}),
      }
      return { kind: 'reports', reports: [{ eventId: checked.id, deliveryId, report, at, ...said }] }
    },
  }
}

interface Event {
  readonly type?: unknown
  readonly timestamp?: unknown
  readonly data?: { readonly delivery_id?: unknown; readonly reason?: unknown; readonly soft?: unknown } | null
}

function eventIn(body: Buffer): Event | null | undefined {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

function malformed(reason: string): ReceivedWebhook {
  return { kind: 'malformed', reason }
}

function timeOf(told: unknown): number | undefined {
  return typeof told === 'string' ? parseTimestamp(told) : undefined
}
