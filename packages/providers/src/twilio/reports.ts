import type { ReadResult, Report, ReportReader, ReportType } from '../model/report.ts'
import { hasTwilioSignature, isTwilioSigned } from './signature.ts'

/** What a status of Twilio's says that we keep; of the others we know it already, or it says nothing final. */
const reportTypes: Readonly<Record<string, ReportType>> = {
  sent: 'acknowledged',
  delivered: 'delivered',
  read: 'opened',
  undelivered: 'bounced',
  failed: 'bounced',
}

/** Errors after which the number is no good: blocked, unknown, a landline, not a mobile number. */
const hardBounceCodes = new Set(['30004', '30005', '30006', '21211', '21614'])
const optOutCode = '21610'

const invalidSignature = 'X-Twilio-Signature is not ours'

/** Takes Twilio's status callbacks. The address they are sent to carries the delivery's id. */
export function createTwilioReportReader(authToken: string): ReportReader {
  return {
    maxBytes: 64 * 1024,
    checkHeaders: (headers) => (hasTwilioSignature(headers) ? undefined : invalidSignature),
    async read(request, now): Promise<ReadResult> {
      if (!isTwilioSigned(authToken, request)) return { kind: 'rejected', reason: invalidSignature }
      const form = new URLSearchParams(request.body.toString('utf8'))
      const [sid, status] = [
        form.get('MessageSid') ?? form.get('SmsSid'),
        form.get('MessageStatus') ?? form.get('SmsStatus'),
      ]
      if (!sid || !status) return { kind: 'malformed', reason: 'MessageSid and MessageStatus are needed' }
      const report = reportTypes[status]
      if (!report) return { kind: 'reports', reports: [] }
      const deliveryId = URL.parse(request.url)?.searchParams.get('delivery')
      const told = createReports(form, sid, status, report, now)
      return { kind: 'reports', reports: deliveryId ? told.map((each) => ({ ...each, deliveryId })) : told }
    },
  }
}

/** Twilio gives its callbacks no id: the message and its status are one, for a message has each status once. */
function createReports(form: URLSearchParams, sid: string, status: string, report: ReportType, now: number): Report[] {
  const code = form.get('ErrorCode')
  const about = { at: now, ...(code ? { reason: `${status}, error ${code}` } : {}) }
  const eventId = `${sid}.${status}`
  if (report !== 'bounced') return [{ eventId, report, ...about }]
  const bounce = { eventId, report, ...about, soft: !hardBounceCodes.has(code ?? '') }
  return code === optOutCode ? [bounce, { eventId: `${eventId}.stop`, report: 'unsubscribed', ...about }] : [bounce]
}
