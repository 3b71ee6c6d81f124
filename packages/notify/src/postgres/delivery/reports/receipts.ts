import type { Transaction } from '@gatehouse/kit'
import { notificationIdOf } from '../../../model/id.ts'
import type { ProviderReport } from '../../../store/store.ts'
import { type BucketScope, bucketsOfIds, nameFor, textFor } from '../../sql/buckets.ts'

/** Reports of recipients that are kept of one delivery: whoever holds its token can add no more to its timeline. */
const maxPerDelivery = 20

interface Recorded {
  readonly delivery_id: string
  readonly type: string
  readonly link: string | null
}

/** Reports of recipients that no timeline has yet. */
export interface Unrecorded {
  /** The first of each delivery, report and link. */
  readonly reports: readonly ProviderReport[]
  /** Deliveries of sensitive notifications among them. */
  readonly sensitive: ReadonlySet<string>
}

const nothing: Unrecorded = { reports: [], sensitive: new Set() }

/**
 * Of reports that recipients made those that their timelines do not have yet. The deliveries are locked, so two that come
 * at once see one another; the timeline is what they are compared with, so that one counts once for as long as it is kept.
 */
export async function findUnrecorded(
  tx: Transaction,
  scope: BucketScope,
  reports: readonly ProviderReport[],
): Promise<Unrecorded> {
  if (reports.length === 0) return nothing
  const ids = [...new Set(reports.map(({ deliveryId }) => notificationIdOf(deliveryId)))]
  const [{ rows }, sensitive] = await Promise.all([
    tx.query<Recorded>({
      name: nameFor(scope, 'notify_recorded_receipts'),
      text: textFor(
        scope,
        `SELECT found.* FROM unnest($1::smallint[], $2::uuid[]) AS r (bucket, id)
          CROSS JOIN LATERAL (
            SELECT e.delivery_id, e.entry_type AS type, e.detail->>'link' AS link FROM notify.timeline_entry e
             WHERE e.bucket = r.bucket AND e.notification_id = r.id AND e.delivery_id IS NOT NULL
               AND e.entry_type IN ('delivered', 'opened', 'clicked')
               AND e.detail->>'provider' IN ('receipts', 'tracking') AND e.detail->>'machine' IS NULL OFFSET 0) AS found`,
      ),
      values: [bucketsOfIds(scope, ids, (id) => id), ids],
    }),
    sensitiveAmong(tx, scope, reports),
  ])
  const counts = new Map<string, number>()
  const keys = new Set<string>()
  const add = (deliveryId: string, key: string) => {
    counts.set(deliveryId, (counts.get(deliveryId) ?? 0) + 1)
    keys.add(key)
  }
  for (const row of rows) add(row.delivery_id, keyOf(row.delivery_id, row.type, row.link))
  const fresh = reports.filter(({ deliveryId, report, link }) => {
    const key = keyOf(deliveryId, report, sensitive.has(deliveryId) ? undefined : link)
    if (keys.has(key) || (counts.get(deliveryId) ?? 0) >= maxPerDelivery) return false
    add(deliveryId, key)
    return true
  })
  return { reports: fresh, sensitive }
}

function keyOf(deliveryId: string, type: string, link: string | null | undefined): string {
  return JSON.stringify([deliveryId, type, link ?? null])
}

/**
 * The deliveries of sensitive notifications among those whose reports have words of others: links and reasons may quote
 * what a message says. Those of machines are ours.
 */
export async function sensitiveAmong(
  tx: Transaction,
  scope: BucketScope,
  reports: readonly ProviderReport[],
): Promise<ReadonlySet<string>> {
  const worded = reports.flatMap(({ deliveryId, link, reason, machine }) =>
    link === undefined && (reason === undefined || machine) ? [] : [deliveryId],
  )
  if (worded.length === 0) return nothing.sensitive
  const ids = [...new Set(worded.map(notificationIdOf))]
  const { rows } = await tx.query<{ id: string }>({
    name: nameFor(scope, 'notify_sensitive_receipts'),
    text: textFor(
      scope,
      `SELECT r.id FROM unnest($1::smallint[], $2::uuid[]) AS r (bucket, id)
        CROSS JOIN LATERAL (
          SELECT n.sensitive FROM notify.notification n WHERE n.bucket = r.bucket AND n.id = r.id LIMIT 1) AS found
        WHERE found.sensitive`,
    ),
    values: [bucketsOfIds(scope, ids, (id) => id), ids],
  })
  const found = new Set(rows.map(({ id }) => id))
  return new Set(worded.filter((id) => found.has(notificationIdOf(id))))
}
