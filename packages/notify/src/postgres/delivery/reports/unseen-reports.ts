import { hash } from 'node:crypto'
import type { Transaction } from '@gatehouse/kit'
import { notificationIdOf } from '../../../model/id.ts'
import type { ProviderReport } from '../../../store/store.ts'
import { type BucketScope, bucketsOfIds, nameFor, textFor } from '../../sql/buckets.ts'

/**
 * What tells a report from others of its notification: 16 bytes of the SHA-256 of the provider and its id of the event, as
 * a UUID.
 */
export function reportKey({ provider, eventId }: Pick<ProviderReport, 'provider' | 'eventId'>): string {
  const hex = hash('sha256', JSON.stringify([provider, eventId]))
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}

/**
 * Of reports that providers made those that neither their timelines nor their deliveries have yet, each once. The deliveries
 * are locked, so two that come at once see one another; one that comes again counts once for as long as the timeline is kept.
 */
export async function unseenReports(
  tx: Transaction,
  scope: BucketScope,
  reports: readonly ProviderReport[],
  deliveries: ReadonlyMap<string, { readonly delivered_report: string | null }>,
): Promise<ProviderReport[]> {
  if (reports.length === 0) return []
  const ids = [...new Set(reports.map(({ deliveryId }) => notificationIdOf(deliveryId)))]
  const { rows } = await tx.query<{ id: string; report_key: string }>({
    name: nameFor(scope, 'notify_seen_reports'),
    text: textFor(
      scope,
      `SELECT r.id, found.report_key FROM unnest($1::smallint[], $2::uuid[]) AS r (bucket, id)
        CROSS JOIN LATERAL (
          SELECT e.report_key FROM notify.timeline_entry e
           WHERE e.bucket = r.bucket AND e.notification_id = r.id AND e.report_key IS NOT NULL OFFSET 0) AS found`,
    ),
    values: [bucketsOfIds(scope, ids, (id) => id), ids],
  })
  const inDeliveries = [...deliveries].flatMap(([id, { delivered_report: key }]) =>
    key === null ? [] : [`${notificationIdOf(id)} ${key}`],
  )
  const seen = new Set([...rows.map((row) => `${row.id} ${row.report_key}`), ...inDeliveries])
  return reports.filter((report) => {
    const key = `${notificationIdOf(report.deliveryId)} ${reportKey(report)}`
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}
