import type { Transaction } from '@gatehouse/kit'
import { notificationIdOf } from '../../model/id.ts'
import type { AttemptRecord } from '../../store/store.ts'
import { columns } from '../sql/columns.ts'
import { among } from '../sql/plans.ts'

/** Records acks: queued becomes sent, and a state that a report has raised already is not lowered. */
export async function acknowledge(
  tx: Transaction,
  bucket: number,
  current: readonly AttemptRecord[],
): Promise<Set<string>> {
  const acks = current.flatMap((r) => (r.acknowledged ? [{ ...r, acknowledged: r.acknowledged }] : []))
  if (acks.length === 0) return new Set()
  const values = [
    bucket,
    ...columns(
      acks,
      (r) => r.claimed.deliveryId,
      (r) => r.acknowledged.provider,
      (r) => r.acknowledged.providerMessageId ?? null,
    ),
  ]
  const { rows } = await tx.query<{ id: string }>({
    name: 'notify_acknowledge',
    text: `UPDATE notify.delivery d SET state = 'sent', provider = a.provider, provider_message_id = a.provider_message_id
             FROM unnest($2::uuid[], $3::text[], $4::text[]) AS a (id, provider, provider_message_id)
            WHERE d.bucket = $1 AND ${among('d.id', '$2')} AND d.id = a.id AND d.state = 'queued' RETURNING d.id`,
    values,
  })
  if (rows.length < acks.length)
    await tx.query({
      name: 'notify_acknowledge_late',
      text: `UPDATE notify.delivery d SET provider = a.provider, provider_message_id = a.provider_message_id
               FROM unnest($2::uuid[], $3::text[], $4::text[]) AS a (id, provider, provider_message_id)
              WHERE d.bucket = $1 AND ${among('d.id', '$2')} AND d.id = a.id AND d.provider_message_id IS NULL`,
      values,
    })
  return new Set(rows.map(({ id }) => id))
}

/**
 * Records acks whose work a provider's report has ended before they came: the state stays where the report raised it.
 * Answers those that nobody had recorded.
 */
export async function acknowledgeLate(
  tx: Transaction,
  bucket: number,
  missed: readonly AttemptRecord[],
): Promise<readonly AttemptRecord[]> {
  const acks = missed.flatMap((r) => (r.acknowledged ? [{ ...r, acknowledged: r.acknowledged }] : []))
  if (acks.length === 0) return []
  const { rows } = await tx.query<{ id: string }>({
    name: 'notify_acknowledge_overtaken',
    text: `UPDATE notify.delivery d SET provider = a.provider, provider_message_id = a.provider_message_id
             FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[]) AS a (id, notification_id, provider, provider_message_id)
            WHERE d.bucket = $1 AND ${among('d.id', '$2')} AND d.id = a.id
              AND d.state <> 'queued' AND d.provider_message_id IS NULL
              AND NOT EXISTS (SELECT FROM notify.delivery_queue w WHERE w.bucket = $1 AND w.delivery_id = a.id)
              AND NOT EXISTS (SELECT FROM notify.timeline_entry e
                               WHERE e.bucket = $1 AND e.notification_id = a.notification_id
                                 AND e.delivery_id = a.id AND e.entry_type = 'sent')
        RETURNING d.id`,
    values: [
      bucket,
      ...columns(
        acks,
        (r) => r.claimed.deliveryId,
        (r) => notificationIdOf(r.claimed.deliveryId),
        (r) => r.acknowledged.provider,
        (r) => r.acknowledged.providerMessageId ?? null,
      ),
    ],
  })
  const recorded = new Set(rows.map(({ id }) => id))
  return acks.filter(({ claimed }) => recorded.has(claimed.deliveryId))
}
