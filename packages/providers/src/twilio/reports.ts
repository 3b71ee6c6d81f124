import type { ReadResult, Report, ReportReader, ReportType } from '../model/report.ts'
import { hasTwilioSignature, isTwilioSigned } from './signature.ts'

/** The statuses that are reported. The others are known from the response, or not final. */
const reportTypes: Readonly<Record<string, ReportType>> = {
  sent: 'acknowledged',
  delivered: 'delivered',
  read: 'opened',
  undelivered: 'bounced',
  failed: 'bounced',
}

/** Errors that make the number invalid: blocked, unknown, a landline, not a mobile number. */
const hardBounceCodes = new Set(['30004', '30005', '30006', '21211', '21614'])
const optOutCode = '21610'

const invalidSignature = 'X-Twilio-Signature is invalid'

/** Creates the reader of Twilio's status callbacks, whose URL contains the delivery id. */
export function createTwilioReportReader(authToken: string): ReportReader {
  return {
    maxBytes: 64 * 1024,
    checkHeaders: (headers) => (hasTwilioSignature(headers) ? undefined : invalidSignature),
    async read(request, now): Promise<ReadResult> {
      if (!isTwilioSigned(authToken, request)) return { kind: 'rejected', reason: invalidSignature }
      const form = new URLSearchParams(request.body.toString('utf8'))
      const sid = form.get('MessageSid') ?? form.get('SmsSid')
      const status = form.get('MessageStatus') ?? form.get('SmsStatus')
      if (!sid || !status) return { kind: 'malformed', reason: 'MessageSid and MessageStatus are needed' }
      const deliveryId = URL.parse(request.url)?.searchParams.get('delivery')
      const reports = createReports({ sid, status, code: form.get('ErrorCode') }, now)
      return { kind: 'reports', reports: deliveryId ? reports.map((report) => ({ ...report, deliveryId })) : reports }
    },
  }
}

interface StatusCallback {
  readonly sid: string
  readonly status: string
  readonly code: string | null
}

/** Callbacks have no id. Message and status identify one, since a message has each status once. */
function createReports({ sid, status, code }: StatusCallback, now: number): Report[] {
  const report = reportTypes[status]
  if (!report) return []
  const details = { at: now, ...(code ? { reason: `${status}, error ${code}`, code } : {}) }
  const eventId = `${sid}.${status}`
  if (report !== 'bounced') return [{ eventId, report, ...details }]
  const bounce: Report = { eventId, report, ...details, soft: !hardBounceCodes.has(code ?? '') }
  return code === optOutCode ? [bounce, { eventId: `${eventId}.stop`, report: 'unsubscribed', ...details }] : [bounce]
}
