import { deliveryIdPattern } from '../model/delivery-id.ts'
import type { ReadResult, ReportReader, ReportRequest, ReportType } from '../model/report.ts'
import { parseTimestamp, timestampExpected } from '../model/timestamp.ts'
import { checkWebhookHeaders, verifyWebhook } from './standard-webhooks.ts'

const reportTypes: Readonly<Record<string, ReportType>> = {
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
export function createHttpReportReader(keys: readonly Buffer[]): ReportReader {
  return {
    checkHeaders: checkWebhookHeaders,
    async read({ headers, body }: ReportRequest, now): Promise<ReadResult> {
      const checked = verifyWebhook(keys, headers, body, now)
      if (checked.kind === 'rejected') return checked
      const event = parseEvent(body)
      if (typeof event?.type !== 'string') return rejectMalformed('type is needed')
      const report = reportTypes[event.type]
      if (!report) return { kind: 'reports', reports: [] }
      const { delivery_id: deliveryId, reason, soft } = event.data ?? {}
      if (typeof deliveryId !== 'string' || !deliveryIdPattern.test(deliveryId))
        return rejectMalformed('data.delivery_id must be the delivery_id of a message')
      const at = event.timestamp === undefined ? checked.at : parseTime(event.timestamp)
      if (at === undefined) return rejectMalformed(`timestamp ${timestampExpected}`)
      const optional = {
        ...(typeof reason === 'string' ? { reason: reason.slice(0, 500) } : {}),
        ...(typeof soft === 'boolean' ? { soft } : {}),
      }
      return { kind: 'reports', reports: [{ eventId: checked.id, deliveryId, report, at, ...optional }] }
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

function rejectMalformed(reason: string): ReadResult {
  return { kind: 'malformed', reason }
}

function parseTime(told: unknown): number | undefined {
  return typeof told === 'string' ? parseTimestamp(told) : undefined
}
