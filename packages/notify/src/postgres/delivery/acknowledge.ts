import type { Query, Transaction } from '@gatehouse/kit'
import { newIdBeside, notificationIdOf } from '../../model/id.ts'
import type { AttemptRecord } from '../../store/store.ts'
import type { Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, nameFor, textFor } from '../sql/buckets.ts'
import { columns, timestamp } from '../sql/columns.ts'
import { keyOf } from '../sql/plans.ts'

type Acknowledged = AttemptRecord & Required<Pick<AttemptRecord, 'acknowledged'>>

const idOf = ({ claimed }: AttemptRecord) => claimed.deliveryId
/** Those of the attempts that a provider accepted. */
export const acknowledgedOf = (records: readonly AttemptRecord[]): Acknowledged[] =>
  records.flatMap((r) => (r.acknowledged ? [{ ...r, acknowledged: r.acknowledged }] : []))
const providerOf = ({ acknowledged }: Acknowledged) => acknowledged.provider
const messageIdOf = ({ acknowledged }: Acknowledged) => acknowledged.providerMessageId ?? null

/** Whether the delivery's own row can hold what its timeline tells of the attempt: that it was sent. */
export function isWholeSending({ what, acknowledged }: AttemptRecord): boolean {
  return what === 'sent' && acknowledged !== undefined
}

/**
 * Records acks: queued becomes sent, and a state that a report has raised already is not lowered. The timeline's entry of
 * a sending stands in the delivery itself. Answers the ids of those that are sent by this.
 */
export async function acknowledge(
  tx: Transaction,
  scope: BucketScope,
  current: readonly AttemptRecord[],
): Promise<Set<string>> {
  const acks = acknowledgedOf(current)
  if (acks.length === 0) return new Set()
  const { rows } = await tx.query<{ id: string }>(acknowledgement(scope, acks))
  if (rows.length < acks.length)
    await tx.query({
      name: nameFor(scope, 'notify_acknowledge_late'),
      text: textFor(
        scope,
        `UPDATE notify.delivery d SET provider = a.provider, provider_message_id = a.provider_message_id
           FROM unnest($1::smallint[], $2::uuid[], $3::text[], $4::text[]) AS a (bucket, id, provider, provider_message_id)
          WHERE ${keyOf('d', 'a')} AND d.provider_message_id IS NULL`,
      ),
      values: ackColumns(scope, acks),
    })
  return new Set(rows.map(({ id }) => id))
}

/** The statement that makes those sent that are queued; it returns their ids. */
export function acknowledgement(scope: BucketScope, acks: readonly Acknowledged[]): Query & Statement {
  return {
    name: nameFor(scope, 'notify_acknowledge'),
    text: textFor(
      scope,
      `UPDATE notify.delivery d
          SET state = 'sent', provider = a.provider, provider_message_id = a.provider_message_id,
              sent_at = a.sent_at, sent_entry = a.sent_entry, sent_attempt = a.sent_attempt, sent_detail = a.sent_detail::json
         FROM unnest($1::smallint[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[], $6::uuid[], $7::integer[], $8::text[])
              AS a (bucket, id, provider, provider_message_id, sent_at, sent_entry, sent_attempt, sent_detail)
        WHERE ${keyOf('d', 'a')} AND d.state = 'queued' RETURNING d.id`,
    ),
    values: [...ackColumns(scope, acks), ...sendingColumns(acks)],
  }
}

const ackColumns = (scope: BucketScope, acks: readonly Acknowledged[]) => [
  bucketsOfIds(scope, acks, idOf),
  ...columns(acks, idOf, providerOf, messageIdOf),
]

/** What the delivery itself keeps of a sending; nothing for an attempt that its timeline tells of. */
function sendingColumns(acks: readonly Acknowledged[]): string[] {
  const sendings = acks.map((ack) => (isWholeSending(ack) ? ack : undefined))
  return columns(
    sendings,
    (ack) => ack && timestamp(ack.at),
    (ack) => ack && newIdBeside(ack.claimed.deliveryId),
    (ack) => ack?.claimed.attempt,
    (ack) => (ack && !isUsual(ack) ? JSON.stringify(ack.detail) : null),
  )
}

/** Whether the one target of a channel was accepted by the provider that the delivery names: that need not be said again. */
function isUsual({ claimed: { channel }, acknowledged: { provider }, detail }: Acknowledged): boolean {
  return JSON.stringify(detail) === JSON.stringify({ results: [{ target: channel, provider, result: 'accepted' }] })
}

/**
 * Records acks whose work a provider's report has ended before they came: the state stays where the report raised it.
 * Answers those that nobody had recorded.
 */
export async function acknowledgeLate(
  tx: Transaction,
  scope: BucketScope,
  missed: readonly AttemptRecord[],
): Promise<readonly AttemptRecord[]> {
  const acks = acknowledgedOf(missed)
  if (acks.length === 0) return []
  const { rows } = await tx.query<{ id: string }>({
    name: nameFor(scope, 'notify_acknowledge_overtaken'),
    text: textFor(
      scope,
      `UPDATE notify.delivery d SET provider = a.provider, provider_message_id = a.provider_message_id
         FROM unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::text[], $5::text[])
              AS a (bucket, id, notification_id, provider, provider_message_id)
        WHERE ${keyOf('d', 'a')}
          AND d.state <> 'queued' AND d.provider_message_id IS NULL AND d.sent_at IS NULL
          AND NOT EXISTS (SELECT FROM notify.delivery_queue w WHERE w.bucket = a.bucket AND w.delivery_id = a.id)
          AND NOT EXISTS (SELECT FROM notify.timeline_entry e
                           WHERE e.bucket = a.bucket AND e.notification_id = a.notification_id
                             AND e.delivery_id = a.id AND e.entry_type = 'sent')
    RETURNING d.id`,
    ),
    values: [
      bucketsOfIds(scope, acks, idOf),
      ...columns(acks, idOf, (r) => notificationIdOf(r.claimed.deliveryId), providerOf, messageIdOf),
    ],
  })
  const recorded = new Set(rows.map(({ id }) => id))
  return acks.filter(({ claimed }) => recorded.has(claimed.deliveryId))
}
