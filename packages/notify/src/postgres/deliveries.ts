import type { Database, Transaction } from '@gatehouse/kit'
import type { Channel } from '../channel.ts'
import { type DeliveryState, nextState } from '../delivery-state.ts'
import { bucketOfId, channelOf, newId, notificationIdOf } from '../ids.ts'
import type { ClaimedDelivery, Deliveries, ProviderReport } from '../store.ts'
import { all } from '../suppression.ts'
import { claim } from './claim.ts'
import { type RecordOptions, record, streamedChange } from './record.ts'
import { addSuppressions } from './suppressions.ts'
import { columns, timestamp } from './words.ts'

export function postgresDeliveries(database: Database, options: RecordOptions): Deliveries {
  return {
    claim: (bucket, channel, limit, leaseMs, now) => claim(database, bucket, channel, limit, leaseMs, now),
    record: (bucket, records) => record(database, bucket, records, options),
    release: (bucket, claimed, dueAt) => release(database, bucket, claimed, dueAt),
    report: (report) => database.transaction((tx) => applyReport(tx, report, options)),
  }
}

async function release(
  database: Database,
  bucket: number,
  claimed: readonly ClaimedDelivery[],
  dueAt: number,
): Promise<void> {
  await database.query({
    name: 'notify_release',
    text: `UPDATE notify.work w SET lease_until = NULL, due_at = greatest(w.due_at, $4::timestamptz)
             FROM unnest($2::uuid[], $3::integer[]) AS r (delivery_id, attempt)
            WHERE w.bucket = $1 AND w.delivery_id = r.delivery_id AND w.attempt = r.attempt`,
    values: [
      bucket,
      ...columns(
        claimed,
        (c) => c.deliveryId,
        (c) => c.attempt,
      ),
      timestamp(dueAt),
    ],
  })
}

interface ReportedRow {
  readonly state: DeliveryState
  readonly user_id: string
  readonly address: string | null
}

/** Applies one report under the locks of its work and its delivery: an event id that was seen, or a pair not in the table, changes nothing. */
async function applyReport(tx: Transaction, report: ProviderReport, options: RecordOptions): Promise<boolean> {
  const bucket = bucketOfId(report.deliveryId)
  const channel = channelOf(report.deliveryId)
  if (!channel) return false
  await tx.query('SELECT FROM notify.work WHERE bucket = $1 AND delivery_id = $2 FOR UPDATE', [
    bucket,
    report.deliveryId,
  ])
  const { rows } = await tx.query<ReportedRow>(
    'SELECT state, user_id, address FROM notify.delivery WHERE bucket = $1 AND id = $2 FOR UPDATE',
    [bucket, report.deliveryId],
  )
  const [delivery] = rows
  if (!delivery) return false
  const seen = await tx.query(
    `INSERT INTO notify.provider_event (bucket, provider, event_id, at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (bucket, provider, event_id) DO NOTHING`,
    [bucket, report.provider, report.eventId, timestamp(report.at)],
  )
  if (seen.rowCount === 0) return false
  const state = nextState(delivery.state, report.report)
  await tx.query(
    `INSERT INTO notify.delivery_event (bucket, notification_id, id, delivery_id, channel, at, what, state, detail)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      bucket,
      notificationIdOf(report.deliveryId),
      newId(bucket),
      report.deliveryId,
      channel,
      timestamp(report.at),
      report.report,
      state ?? null,
      JSON.stringify({ provider: report.provider, ...(report.reason === undefined ? {} : { reason: report.reason }) }),
    ],
  )
  if (!state) return false
  await tx.query(
    'UPDATE notify.delivery SET state = $3, provider = coalesce(provider, $4) WHERE bucket = $1 AND id = $2',
    [bucket, report.deliveryId, state, report.provider],
  )
  if (delivery.state === 'queued' && channel !== 'push')
    await tx.query('DELETE FROM notify.work WHERE bucket = $1 AND delivery_id = $2', [bucket, report.deliveryId])
  if (state === 'bounced') await suppress(tx, bucket, channel, delivery, report)
  if (options.streaming)
    await tx.query('INSERT INTO notify.outbox (bucket, id, payload) VALUES ($1, $2, $3)', [
      bucket,
      newId(bucket),
      JSON.stringify(
        streamedChange({ deliveryId: report.deliveryId, userId: delivery.user_id, channel }, state, report.at),
      ),
    ])
  return true
}

/** What is sent to an address that bounced or complained is left out from now on, as far as the report says. */
async function suppress(
  tx: Transaction,
  bucket: number,
  channel: Channel,
  { user_id: userId, address }: ReportedRow,
  { suppressing, at, reason: detail }: ProviderReport,
): Promise<void> {
  if (address === null || channel === 'in-app' || !suppressing) return
  const about = { userId, channel, address, scope: all, ...(detail === undefined ? {} : { detail }) }
  await addSuppressions(tx, bucket, [{ ...about, ...suppressing }], at)
}
