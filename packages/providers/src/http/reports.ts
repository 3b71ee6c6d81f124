import { deliveryIdPattern } from '../model/delivery-id.ts'
import type { ReadResult, ReportReader, ReportRequest, ReportType } from '../model/report.ts'
import { parseTimestamp, timestampExpected } from '../model/timestamp.ts'
import type { HmacKey } from '../signature/hmac-key.ts'
import { checkWebhookHeaders, verifyWebhook } from './standard-webhooks.ts'

const reportTypes: Readonly<Record<string, ReportType>> = {
  'message.delivered': 'delivered',
  'message.opened': 'opened',
  'message.clicked': 'clicked',
  'message.bounced': 'bounced',
  'message.complained': 'complained',
}

/**
 * Creates the reader of reports in JSON, signed according to Standard Webhooks: `{"type": "message.delivered",
 * "timestamp", "data": {"delivery_id", "reason"?, "soft"?}}`. The `webhook-id` is the event id. Unknown types are ignored.
 */
export function createHttpReportReader(keys: readonly HmacKey[]): ReportReader {
  return {
    checkHeaders: checkWebhookHeaders,
    async read({ headers, body }: ReportRequest, now): Promise<ReadResult> {
      const verified = verifyWebhook(keys, headers, body, now)
      if (verified.kind === 'rejected') return verified
      const event = parseEvent(body)
      if (typeof event?.type !== 'string') return rejectMalformed('type is needed')
      const report = reportTypes[event.type]
      if (!report) return { kind: 'reports', reports: [] }
      const { delivery_id: deliveryId, reason, soft } = event.data ?? {}
      if (typeof deliveryId !== 'string' || !deliveryIdPattern.test(deliveryId))
        return rejectMalformed('data.delivery_id must be the delivery_id of a message')
      const at = event.timestamp === undefined ? verified.at : parseTime(event.timestamp)
      if (at === undefined) return rejectMalformed(`timestamp ${timestampExpected}`)
      const details = {
        ...(typeof reason === 'string' ? { reason: reason.slice(0, 500) } : {}),
        ...(typeof soft === 'boolean' ? { soft } : {}),
      }
      return { kind: 'reports', reports: [{ eventId: verified.id, deliveryId, report, at, ...details }] }
    },
  }
}

interface ReportEvent {
  readonly type?: unknown
  readonly timestamp?: unknown
  readonly data?: { readonly delivery_id?: unknown; readonly reason?: unknown; readonly soft?: unknown } | null
}

function parseEvent(body: Buffer): ReportEvent | null | undefined {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

function parseTime(timestamp: unknown): number | undefined {
  return typeof timestamp === 'string' ? parseTimestamp(timestamp) : undefined
}

function rejectMalformed(reason: string): ReadResult {
  return { kind: 'malformed', reason }
}
