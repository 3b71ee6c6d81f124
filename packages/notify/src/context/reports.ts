import { type Clock, createBatcher, isCleanText } from '@gatehouse/kit'
import type { Report } from '@gatehouse/providers'
import { type SuppressionDays, suppressingOf } from '../model/delivery/suppression.ts'
import { idPattern } from '../model/id.ts'
import { countedDomain } from '../model/measure.ts'
import { countedSmsCode } from '../model/sms-code.ts'
import type { Deliveries, FreshReport, ProviderReport, ReportOutcome } from '../store/store.ts'
import type { NotifyMetrics } from './metrics.ts'

/** The way in for what is told about deliveries after their ack: by providers, and by our own links and pixels. */
export interface Reports {
  /**
   * Stores and applies reports; resolves once they are committed, and answers for each. Those that come together are
   * committed together. One about a delivery that isn't ours, or no more, is `unknown`.
   */
  record(provider: string, reports: readonly Report[]): Promise<readonly ReportOutcome[]>
  /** Resolves when everything taken so far is stored. */
  idle(): Promise<void>
}

/** What storing reports needs. */
export interface ReportsOptions {
  readonly deliveries: Pick<Deliveries, 'report'>
  readonly suppressionDays: SuppressionDays
  readonly clock: Clock
  readonly metrics: NotifyMetrics
  /** Called with the deliveries whose state may have changed. */
  readonly onReported: (deliveryIds: readonly string[]) => void
}

type Batch = readonly ProviderReport[]

/** Creates the batches in which reports are stored. */
export function createReports(options: ReportsOptions): Reports {
  const { deliveries, suppressionDays, clock, metrics, onReported } = options
  const store = async (batches: readonly Batch[]): Promise<ReportOutcome[][]> => {
    const outcomes = [
      ...(await deliveries.report(batches.flat(), clock.now(), (report) => countFresh(metrics, report))),
    ]
    onReported(batches.flat().map(({ deliveryId }) => deliveryId))
    return batches.map((batch) => outcomes.splice(0, batch.length))
  }
  const gatherer = createBatcher<Batch, ReportOutcome[]>(store, { maxBatch: 100, concurrency: 2, maxWaiting: 2_000 })
  return {
    async record(provider, reports) {
      const now = clock.now()
      const readable = reports.map((report) => readReport(provider, report, suppressionDays, now))
      const known = readable.filter((report) => report !== undefined)
      const stored = known.length === 0 ? [] : [...(await gatherer.add(known))]
      const outcomes = readable.map((report): ReportOutcome => (report ? (stored.shift() ?? 'unknown') : 'unknown'))
      for (const [index, { report }] of reports.entries())
        metrics.reports.inc({ provider, report, outcome: outcomes[index] ?? 'unknown' })
      return outcomes
    },
    idle: () => gatherer.idle(),
  }
}

/** What machines open is told apart from what people do. */
function countFresh(metrics: NotifyMetrics, fresh: FreshReport): void {
  const { channel, provider, report, machine, code, address, suppresses } = fresh
  if (suppresses !== undefined) metrics.keep('suppressions', { channel, reason: suppresses })
  const state = machine ? `${report}_by_machine` : report
  metrics.keep('states', { channel, provider, state })
  if (channel === 'sms' && report === 'bounced') metrics.keep('sms_failures', { provider, code: countedSmsCode(code) })
  if (channel === 'email' && address !== undefined)
    metrics.keep('states_by_domain', { provider, domain: countedDomain(address), state })
}

const ours = new RegExp(idPattern)
const maxIdLength = 256
const maxReasonLength = 500
const oneDayMs = 86_400_000

/** A report as it is stored, or undefined when it names no delivery of ours. What a provider writes is kept within bounds. */
function readReport(
  provider: string,
  { eventId, deliveryId, report, at, reason, code, link, soft = false, machine = false, byRecipient = false }: Report,
  days: SuppressionDays,
  now: number,
): ProviderReport | undefined {
  if (deliveryId === undefined || !ours.test(deliveryId)) return undefined
  if (eventId === '' || eventId.length > maxIdLength || !isCleanText(eventId)) return undefined
  const suppressing = suppressingOf(report, soft, days, now)
  return {
    provider,
    eventId,
    deliveryId,
    report,
    at: Number.isFinite(at) && at > 0 && at < now + oneDayMs ? Math.trunc(at) : now,
    ...(reason === undefined ? {} : { reason: truncateText(reason) }),
    ...(code === undefined ? {} : { code }),
    ...(soft ? { soft } : {}),
    ...(machine ? { machine } : {}),
    ...(link === undefined ? {} : { link: truncateText(link) }),
    ...(byRecipient ? { byRecipient } : {}),
    ...(suppressing ? { suppressing } : {}),
  }
}

function truncateText(text: string): string {
  return text.slice(0, maxReasonLength).replaceAll('\u0000', '').toWellFormed()
}
