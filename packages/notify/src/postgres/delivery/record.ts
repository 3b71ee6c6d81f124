import type { Database, Notifier, Query, Transaction } from '@gatehouse/kit'
import { notificationIdOf } from '../../model/id.ts'
import type { StateChange } from '../../model/notification/state-change.ts'
import type { AttemptRecord, RecordResult } from '../../store/store.ts'
import { putItems } from '../inbox/inbox.ts'
import { at } from '../nodes/spread-database.ts'
import { eraseSensitive } from '../retention/erase-sensitive.ts'
import { type BucketScope, bucketsOfIds, nameFor, textFor } from '../sql/buckets.ts'
import { columns, documents, timestamp } from '../sql/columns.ts'
import { byIndexes, keyOf } from '../sql/plans.ts'
import { type StreamOptions, writeChanges } from '../timeline/outbox.ts'
import { appendTimeline, type NewTimelineEntry } from '../timeline/timeline.ts'
import { suppressAddresses } from '../users/suppressions.ts'
import { acknowledge, acknowledgeLate, isWholeSending } from './acknowledge.ts'
import { addDeadLetters, endExpired } from './end.ts'

/** Options of {@link record}. */
export interface RecordOptions extends StreamOptions {
  /** Publishes the users whose inboxes have changed. */
  readonly inboxes: Notifier
}

/**
 * Stores the results of a batch of attempts, in one transaction. The attempt number is the fence: an attempt whose
 * delivery was claimed again since is left out, and so is its inbox item.
 */
export async function record(
  database: Database,
  scope: BucketScope,
  records: readonly AttemptRecord[],
  { streaming, inboxes }: RecordOptions,
): Promise<Omit<RecordResult, 'failed'>> {
  const sorted = [...records].sort((a, b) => (a.claimed.deliveryId < b.claimed.deliveryId ? -1 : 1))
  const { items, ...result } = await at(database, scope.bucket).transaction(async (tx) => {
    const { true: again = [], false: ending = [] } = Object.groupBy(sorted, ({ next }) => `${next.kind === 'again'}`)
    const [, ...kept] = await Promise.all([
      scope.bucket === undefined ? tx.query(byIndexes) : undefined,
      removeFromQueue(tx, scope, ending),
      returnToQueue(tx, scope, again),
    ])
    const { true: current = [], false: stale = [] } = Object.groupBy(
      sorted,
      ({ claimed }) => `${kept.some((ids) => ids.has(claimed.deliveryId))}`,
    )
    const [sent, expired] = await Promise.all([acknowledge(tx, scope, current), endExpired(tx, scope, current)])
    const [deadDevices] = await Promise.all([
      markTokensDead(tx, scope, current),
      addDeadLetters(tx, scope, current),
      suppressAddresses(tx, scope, current),
    ])
    await eraseSensitive(tx, scope, current.filter(isFinishedSensitive).map(deliveryId))
    const overtaken = await acknowledgeLate(tx, scope, stale)
    const items = current.flatMap(itemOf)
    const entries = [...current, ...overtaken].filter((each) => !(sent.has(deliveryId(each)) && isWholeSending(each)))
    // The inboxes come last: their locks last only as long as the server takes.
    await tx.finish([
      ...appendTimeline(
        scope,
        entries.map((each) => entryOf(each, sent)),
      ),
      ...(streaming ? stream(scope, current, sent, expired) : []),
      ...putItems(scope, items),
    ])
    return { late: records.length - current.length - overtaken.length, deadDevices, items }
  })
  if (items.length > 0) inboxes.publish(items.map(({ userId }) => userId))
  return result
}

/** The inbox item of an accepted attempt. */
function itemOf({ claimed, acknowledged, at }: AttemptRecord) {
  if (!acknowledged?.inInbox) return []
  const { subject, body } = claimed.message
  const item = { id: claimed.deliveryId, userId: claimed.userId, event: claimed.event, createdAt: at, body }
  return [{ ...item, ...(subject === undefined ? {} : { subject }) }]
}

/**
 * Takes deliveries off the queue. The attempt number of one that was replayed goes on from the claims before: the lease,
 * which a replay begins without, leaves out a step of then that is recorded again.
 */
async function removeFromQueue(
  tx: Transaction,
  scope: BucketScope,
  records: readonly AttemptRecord[],
): Promise<Set<string>> {
  if (records.length === 0) return new Set()
  const { rows } = await tx.query<{ delivery_id: string }>({
    name: nameFor(scope, 'notify_remove_from_queue'),
    text: textFor(
      scope,
      `DELETE FROM notify.delivery_queue w
        USING unnest($1::smallint[], $2::uuid[], $3::integer[]) AS d (bucket, delivery_id, attempt)
        WHERE ${keyOf('w', 'd', 'delivery_id')} AND w.attempt = d.attempt
          AND w.lease_until IS NOT NULL
    RETURNING w.delivery_id`,
    ),
    values: [bucketsOfIds(scope, records, deliveryId), ...columns(records, deliveryId, attempt)],
  })
  return new Set(rows.map((row) => row.delivery_id))
}

const deliveryId = ({ claimed }: AttemptRecord) => claimed.deliveryId
const attempt = ({ claimed }: AttemptRecord) => claimed.attempt

/**
 * Puts deliveries back into the queue. A step may be recorded again where it was not known whether it had been; the lease,
 * which the first time ends and only a claim begins, leaves the second out.
 */
async function returnToQueue(
  tx: Transaction,
  scope: BucketScope,
  records: readonly AttemptRecord[],
): Promise<Set<string>> {
  const waiting = records.flatMap((r) => (r.next.kind === 'again' ? [{ ...r, next: r.next }] : []))
  if (waiting.length === 0) return new Set()
  const { rows } = await tx.query<{ delivery_id: string }>({
    name: nameFor(scope, 'notify_return_to_queue'),
    text: textFor(
      scope,
      `UPDATE notify.delivery_queue w
          SET due_at = r.due_at, lease_until = NULL, failures = r.failures, crashes = r.crashes,
              message = r.message
         FROM ROWS FROM (
                unnest($1::smallint[], $2::uuid[], $3::integer[], $4::timestamptz[], $5::integer[], $7::integer[]),
                json_array_elements($6::json))
              AS r (bucket, delivery_id, attempt, due_at, failures, crashes, message)
        WHERE ${keyOf('w', 'r', 'delivery_id')} AND w.attempt = r.attempt
          AND w.lease_until IS NOT NULL
    RETURNING w.delivery_id`,
    ),
    values: [
      bucketsOfIds(scope, waiting, deliveryId),
      ...columns(
        waiting,
        deliveryId,
        attempt,
        (r) => timestamp(r.next.dueAt),
        (r) => r.next.failures,
      ),
      documents(waiting, (r) => ({ ...r.claimed.message, ...r.next.left })),
      ...columns(waiting, (r) => r.next.crashes ?? 0),
    ],
  })
  return new Set(rows.map((row) => row.delivery_id))
}

function entryOf({ claimed, at, what, detail }: AttemptRecord, sent: ReadonlySet<string>): NewTimelineEntry {
  const { deliveryId, channel, attempt } = claimed
  return {
    notificationId: notificationIdOf(deliveryId),
    deliveryId,
    channel,
    at,
    entryType: what,
    ...(sent.has(deliveryId) ? { state: 'sent' } : {}),
    detail: { attempt, ...detail },
  }
}

/** Answers the provider of each device that was living. */
async function markTokensDead(
  tx: Transaction,
  scope: BucketScope,
  current: readonly AttemptRecord[],
): Promise<readonly string[]> {
  const tokens = current.flatMap(({ claimed, deadTokens }) =>
    deadTokens.map((dead) => ({ ...dead, userId: claimed.userId, deliveryId: claimed.deliveryId })),
  )
  if (tokens.length === 0) return []
  const { rows } = await tx.query<{ provider: string }>({
    name: nameFor(scope, 'notify_mark_tokens_dead'),
    text: textFor(
      scope,
      `UPDATE notify.device d SET dead_at = t.at, dead_reason = t.reason
         FROM unnest($1::smallint[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[])
                AS t (bucket, user_id, token, at, reason, provider)
        WHERE d.bucket = t.bucket AND d.user_id = t.user_id AND d.token = t.token AND d.dead_at IS NULL
          AND d.registered_at <= t.at
        RETURNING t.provider`,
    ),
    values: [
      bucketsOfIds(scope, tokens, (t) => t.deliveryId),
      ...columns(
        tokens,
        (t) => t.userId,
        (t) => t.token,
        (t) => timestamp(t.at),
        (t) => t.reason,
        (t) => t.provider,
      ),
    ],
  })
  return rows.map(({ provider }) => provider)
}

/** Steps after which nothing is sent and nothing can be replayed. */
const ends: ReadonlySet<AttemptRecord['next']['kind']> = new Set(['done', 'expired'])

function isFinishedSensitive({ claimed, next }: AttemptRecord): boolean {
  return claimed.sensitive && ends.has(next.kind)
}

function stream(
  scope: BucketScope,
  current: readonly AttemptRecord[],
  sent: ReadonlySet<string>,
  expired: ReadonlySet<string>,
): Query[] {
  const changes = current.flatMap(({ claimed, at }): StateChange[] => {
    if (sent.has(claimed.deliveryId)) return [{ ...claimed, state: 'sent', at }]
    return expired.has(claimed.deliveryId) ? [{ ...claimed, state: 'queued', ended: 'expired', at }] : []
  })
  return writeChanges(scope, changes)
}
