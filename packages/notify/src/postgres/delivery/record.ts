import type { Database, Notifier, Query, Transaction } from '@gatehouse/kit'
import { deliveryIdOf, newId, notificationIdOf } from '../../model/id.ts'
import type { Message } from '../../model/notification.ts'
import type { AttemptRecord, ClaimedDelivery } from '../../store/store.ts'
import { putItems } from '../inbox/inbox.ts'
import { eraseSensitive } from '../retention/erase-sensitive.ts'
import { columns, documents, optionalTimestamp, timestamp } from '../sql/columns.ts'
import { among, useCustomPlans } from '../sql/plans.ts'
import { type StateChange, type StreamOptions, writeChanges } from '../timeline/outbox.ts'
import { appendTimeline, type NewTimelineEntry } from '../timeline/timeline.ts'
import { suppressAddresses } from '../users/suppressions.ts'
import { acknowledge, acknowledgeLate } from './acknowledge.ts'

/** Options of {@link record}. */
export interface RecordOptions extends StreamOptions {
  /** Is given those whose inboxes have changed. */
  readonly inboxes: Notifier
}

/**
 * Stores what a batch of tries came to, in one transaction. The attempt number is the fence: a try whose delivery was
 * claimed again since is left out, and so is its item of the inbox. Answers how many were.
 */
export async function record(
  database: Database,
  bucket: number,
  records: readonly AttemptRecord[],
  { streaming, inboxes }: RecordOptions,
): Promise<number> {
  const sorted = [...records].sort((a, b) => (a.claimed.deliveryId < b.claimed.deliveryId ? -1 : 1))
  const { late, items } = await database.transaction(async (tx) => {
    const { true: again = [], false: ending = [] } = Object.groupBy(sorted, ({ next }) => `${next.kind === 'again'}`)
    const [, ...kept] = await Promise.all([
      useCustomPlans(tx),
      removeFromQueue(tx, bucket, ending),
      returnToQueue(tx, bucket, again),
    ])
    const { true: current = [], false: stale = [] } = Object.groupBy(
      sorted,
      ({ claimed }) => `${kept.some((ids) => ids.has(claimed.deliveryId))}`,
    )
    const [sent, expired] = await Promise.all([acknowledge(tx, bucket, current), endExpired(tx, bucket, current)])
    await Promise.all([
      addDeadLetters(tx, bucket, current),
      markTokensDead(tx, bucket, current),
      suppressAddresses(tx, bucket, current),
    ])
    await eraseSensitive(tx, bucket, finishedSensitive(current))
    const overtaken = await acknowledgeLate(tx, bucket, stale)
    const items = current.flatMap(itemOf)
    // The inboxes come last: nobody waits for them longer than the server takes.
    await tx.finish([
      ...appendTimeline(
        bucket,
        [...current, ...overtaken].map((each) => entryOf(each, sent)),
      ),
      ...(streaming ? stream(bucket, current, sent, expired) : []),
      ...putItems(bucket, items),
    ])
    return { late: records.length - current.length - overtaken.length, items }
  })
  if (items.length > 0) inboxes.publish(items.map(({ userId }) => userId))
  return late
}

/** The item of the user's inbox that a try comes to. */
function itemOf({ claimed, acknowledged, at }: AttemptRecord) {
  if (!acknowledged?.inInbox) return []
  const { subject, body } = claimed.message
  const item = { id: claimed.deliveryId, userId: claimed.userId, event: claimed.event, createdAt: at, body }
  return [{ ...item, ...(subject === undefined ? {} : { subject }) }]
}

async function removeFromQueue(
  tx: Transaction,
  bucket: number,
  records: readonly AttemptRecord[],
): Promise<Set<string>> {
  if (records.length === 0) return new Set()
  const { rows } = await tx.query<{ delivery_id: string }>({
    name: 'notify_remove_from_queue',
    text: `DELETE FROM notify.delivery_queue w USING unnest($2::uuid[], $3::integer[]) AS d (delivery_id, attempt)
            WHERE w.bucket = $1 AND ${among('w.delivery_id', '$2')} AND w.delivery_id = d.delivery_id
              AND w.attempt = d.attempt
        RETURNING w.delivery_id`,
    values: [bucket, ...columns(records, deliveryId, attempt)],
  })
  return new Set(rows.map((row) => row.delivery_id))
}

const deliveryId = ({ claimed }: AttemptRecord) => claimed.deliveryId
const attempt = ({ claimed }: AttemptRecord) => claimed.attempt

async function returnToQueue(tx: Transaction, bucket: number, records: readonly AttemptRecord[]): Promise<Set<string>> {
  const waiting = records.flatMap((r) => (r.next.kind === 'again' ? [{ ...r, next: r.next }] : []))
  if (waiting.length === 0) return new Set()
  const { rows } = await tx.query<{ delivery_id: string }>({
    name: 'notify_return_to_queue',
    text: `UPDATE notify.delivery_queue w
              SET due_at = r.due_at, lease_until = NULL, failures = r.failures, crashes = r.crashes,
                  message = r.message
             FROM ROWS FROM (
                    unnest($2::uuid[], $3::integer[], $4::timestamptz[], $5::integer[], $7::integer[]),
                    json_array_elements($6::json))
                  AS r (delivery_id, attempt, due_at, failures, crashes, message)
            WHERE w.bucket = $1 AND ${among('w.delivery_id', '$2')} AND w.delivery_id = r.delivery_id
              AND w.attempt = r.attempt
        RETURNING w.delivery_id`,
    values: [
      bucket,
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

/** Ends those that expired before anybody took them; answers which. */
async function endExpired(tx: Transaction, bucket: number, current: readonly AttemptRecord[]): Promise<Set<string>> {
  const expired = current.filter(({ next }) => next.kind === 'expired').map(deliveryId)
  if (expired.length === 0) return new Set()
  const { rows } = await tx.query<{ id: string }>({
    name: 'notify_end_expired',
    text: `UPDATE notify.delivery SET ended = 'expired' WHERE bucket = $1 AND ${among('id', '$2')} AND state = 'queued'
           RETURNING id`,
    values: [bucket, expired],
  })
  return new Set(rows.map(({ id }) => id))
}

async function addDeadLetters(tx: Transaction, bucket: number, current: readonly AttemptRecord[]): Promise<void> {
  const dead = current.flatMap((r) => (r.next.kind === 'dead' ? [{ ...r, next: r.next }] : []))
  if (dead.length === 0) return
  await tx.query({
    name: 'notify_add_dead_letters',
    text: `INSERT INTO notify.dead_letter (bucket, id, notification_id, user_id, channel, event, cause, detail, died_at, message,
                                       expires_at)
           SELECT $1, d.id, d.notification_id, d.user_id, d.channel, d.event, d.cause, d.detail, d.died_at, d.message::jsonb,
                  d.expires_at
             FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::timestamptz[], $10::text[],
                         $11::timestamptz[])
                  AS d (id, notification_id, user_id, channel, event, cause, detail, died_at, message, expires_at)
           ON CONFLICT (bucket, id) DO NOTHING`,
    values: [
      bucket,
      ...columns(
        dead,
        deliveryId,
        (r) => notificationIdOf(r.claimed.deliveryId),
        (r) => r.claimed.userId,
        (r) => r.claimed.channel,
        (r) => r.claimed.event,
        (r) => r.next.cause,
        (r) => r.next.detail,
        (r) => timestamp(r.at),
        (r) => JSON.stringify(replayable(r.claimed, r.next.left)),
        (r) => optionalTimestamp(r.claimed.expiresAt),
      ),
    ],
  })
  await endDead(tx, bucket, dead.map(deliveryId))
  await fallBack(
    tx,
    bucket,
    dead.filter(({ next }) => next.fallback),
  )
}

function endDead(tx: Transaction, bucket: number, deliveryIds: readonly string[]): Promise<unknown> {
  return tx.query({
    name: 'notify_end_dead',
    text: `UPDATE notify.delivery SET ended = 'dead_letter' WHERE bucket = $1 AND ${among('id', '$2')} AND state = 'queued'`,
    values: [bucket, deliveryIds],
  })
}

/**
 * What a replay begins with: the message, and nothing of what was tried but the pauses that providers asked for, who may
 * have taken it, and that it was claimed.
 */
function replayable({ message, attempt }: ClaimedDelivery, left: Partial<Message> = {}): Message {
  const { waitsSince, postponements, failedProviders, ...fresh } = message
  const { providerPauses = fresh.providerPauses, unresolved = fresh.unresolved } = left
  return {
    ...fresh,
    ...(providerPauses && { providerPauses }),
    ...(unresolved && { unresolved }),
    earlierClaims: attempt,
  }
}

/** Gives a push that died to email, once: not when the notification has an email delivery already. */
async function fallBack(tx: Transaction, bucket: number, dead: readonly AttemptRecord[]): Promise<void> {
  if (dead.length === 0) return
  const emails = dead.map((r) => ({
    id: deliveryIdOf(notificationIdOf(r.claimed.deliveryId), 'email'),
    notificationId: notificationIdOf(r.claimed.deliveryId),
    userId: r.claimed.userId,
    at: timestamp(r.at),
  }))
  const { rows } = await tx.query<{ id: string }>({
    name: 'notify_fall_back',
    text: `INSERT INTO notify.delivery (bucket, id, user_id, channel, state)
           SELECT $1, e.id, e.user_id, 'email', 'queued' FROM unnest($2::uuid[], $3::text[]) AS e (id, user_id)
           ON CONFLICT (bucket, id) DO NOTHING RETURNING id`,
    values: [
      bucket,
      ...columns(
        emails,
        (e) => e.id,
        (e) => e.userId,
      ),
    ],
  })
  const created = new Set(rows.map(({ id }) => id))
  await deferEmails(
    tx,
    bucket,
    emails.filter(({ id }) => created.has(id)),
  )
}

interface FallbackEmail {
  readonly notificationId: string
  readonly userId: string
  readonly at: string
}

async function deferEmails(tx: Transaction, bucket: number, emails: readonly FallbackEmail[]): Promise<void> {
  if (emails.length === 0) return
  await tx.query({
    name: 'notify_defer_fallback',
    text: `INSERT INTO notify.deferred (bucket, id, notification_id, user_id, channels, reason, resume_at)
           SELECT $1, d.id, d.notification_id, d.user_id, ARRAY['email'], 'fallback', d.resume_at
             FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[]) AS d (id, notification_id, user_id, resume_at)`,
    values: [
      bucket,
      ...columns(
        emails,
        () => newId(bucket),
        (e) => e.notificationId,
        (e) => e.userId,
        (e) => e.at,
      ),
    ],
  })
}

async function markTokensDead(tx: Transaction, bucket: number, current: readonly AttemptRecord[]): Promise<void> {
  const tokens = current.flatMap(({ claimed, deadTokens }) =>
    deadTokens.map((dead) => ({ ...dead, userId: claimed.userId })),
  )
  if (tokens.length === 0) return
  await tx.query({
    name: 'notify_mark_tokens_dead',
    text: `UPDATE notify.device d SET dead_at = t.at, dead_reason = t.reason
             FROM unnest($2::text[], $3::text[], $4::timestamptz[], $5::text[]) AS t (user_id, token, at, reason)
            WHERE d.bucket = $1 AND ${among('d.user_id', '$2', 'text')} AND d.user_id = t.user_id AND d.token = t.token AND d.dead_at IS NULL
              AND d.registered_at <= t.at`,
    values: [
      bucket,
      ...columns(
        tokens,
        (t) => t.userId,
        (t) => t.token,
        (t) => timestamp(t.at),
        (t) => t.reason,
      ),
    ],
  })
}

/** Of these nothing is sent any more, and nothing can be replayed. */
const ends: ReadonlySet<AttemptRecord['next']['kind']> = new Set(['done', 'expired'])

function finishedSensitive(current: readonly AttemptRecord[]): string[] {
  return current.filter(({ claimed, next }) => claimed.sensitive && ends.has(next.kind)).map(deliveryId)
}

function stream(
  bucket: number,
  current: readonly AttemptRecord[],
  sent: ReadonlySet<string>,
  expired: ReadonlySet<string>,
): Query[] {
  const changes = current.flatMap(({ claimed, at }): StateChange[] => {
    if (sent.has(claimed.deliveryId)) return [{ ...claimed, state: 'sent', at }]
    return expired.has(claimed.deliveryId) ? [{ ...claimed, state: 'queued', ended: 'expired', at }] : []
  })
  return writeChanges(bucket, changes)
}
