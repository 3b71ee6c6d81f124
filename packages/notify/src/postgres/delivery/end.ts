import type { Transaction } from '@gatehouse/kit'
import { deliveryIdOf, newIdBeside, notificationIdOf } from '../../model/id.ts'
import type { Message } from '../../model/notification/notification.ts'
import type { AttemptRecord, ClaimedDelivery } from '../../store/store.ts'
import { type BucketScope, bucketsOfIds, nameFor, textFor } from '../sql/buckets.ts'
import { columns, optionalTimestamp, timestamp } from '../sql/columns.ts'
import { keyOf } from '../sql/plans.ts'

const deliveryId = ({ claimed }: AttemptRecord) => claimed.deliveryId

/** Ends deliveries that expired before a provider accepted them; returns their ids. */
export async function endExpired(
  tx: Transaction,
  scope: BucketScope,
  current: readonly AttemptRecord[],
): Promise<Set<string>> {
  const expired = current.filter(({ next }) => next.kind === 'expired')
  return expired.length === 0 ? new Set() : end(tx, scope, expired, 'expired')
}

/** Adds dead letters for deliveries that failed for good, ends them, and defers the emails of failed pushes. */
export async function addDeadLetters(
  tx: Transaction,
  scope: BucketScope,
  current: readonly AttemptRecord[],
): Promise<void> {
  const dead = current.flatMap((r) => (r.next.kind === 'dead' ? [{ ...r, next: r.next }] : []))
  if (dead.length === 0) return
  await tx.query({
    name: nameFor(scope, 'notify_add_dead_letters'),
    text: textFor(
      scope,
      `INSERT INTO notify.dead_letter (bucket, id, notification_id, user_id, channel, event, cause, detail, died_at, message,
                                       expires_at)
       SELECT d.bucket, d.id, d.notification_id, d.user_id, d.channel, d.event, d.cause, d.detail, d.died_at, d.message::jsonb,
              d.expires_at
         FROM unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                     $9::timestamptz[], $10::text[], $11::timestamptz[])
              AS d (bucket, id, notification_id, user_id, channel, event, cause, detail, died_at, message, expires_at)
       ON CONFLICT (bucket, id) DO NOTHING`,
    ),
    values: [
      bucketsOfIds(scope, dead, deliveryId),
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
  await end(tx, scope, dead, 'dead_letter')
  await fallBack(
    tx,
    scope,
    dead.filter(({ next }) => next.fallback),
  )
}

/** Ends deliveries that no provider accepted; returns the ids of those that it ended. */
async function end(
  tx: Transaction,
  scope: BucketScope,
  records: readonly AttemptRecord[],
  ended: 'expired' | 'dead_letter',
): Promise<Set<string>> {
  const { rows } = await tx.query<{ id: string }>({
    name: nameFor(scope, 'notify_end_queued'),
    text: textFor(
      scope,
      `UPDATE notify.delivery d SET ended = $3 FROM unnest($1::smallint[], $2::uuid[]) AS e (bucket, id)
        WHERE ${keyOf('d', 'e')} AND d.state = 'queued' RETURNING d.id`,
    ),
    values: [bucketsOfIds(scope, records, deliveryId), ...columns(records, deliveryId), ended],
  })
  return new Set(rows.map(({ id }) => id))
}

/**
 * What a replay begins with: the message, and of the attempts only the pauses that providers asked for, who may have
 * accepted it, and that it was claimed.
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

/**
 * Falls back to email for a failed push, once: not when the notification has an email delivery already, nor when it was
 * purged before a replay of its push.
 */
async function fallBack(tx: Transaction, scope: BucketScope, dead: readonly AttemptRecord[]): Promise<void> {
  if (dead.length === 0) return
  const emails = dead.map((r) => ({
    id: deliveryIdOf(notificationIdOf(r.claimed.deliveryId), 'email'),
    notificationId: notificationIdOf(r.claimed.deliveryId),
    userId: r.claimed.userId,
    at: timestamp(r.at),
  }))
  const { rows } = await tx.query<{ id: string }>({
    name: nameFor(scope, 'notify_fall_back'),
    text: textFor(
      scope,
      `INSERT INTO notify.delivery (bucket, id, user_id, channel, state)
       SELECT e.bucket, e.id, e.user_id, 'email', 'queued'
         FROM unnest($1::smallint[], $2::uuid[], $3::text[], $4::uuid[]) AS e (bucket, id, user_id, notification_id)
         JOIN notify.notification n ON ${keyOf('n', 'e', 'id', 'notification_id')}
       ON CONFLICT (bucket, id) DO NOTHING RETURNING id`,
    ),
    values: [
      bucketsOfIds(scope, emails, ({ id }) => id),
      ...columns(
        emails,
        (e) => e.id,
        (e) => e.userId,
        (e) => e.notificationId,
      ),
    ],
  })
  const created = new Set(rows.map(({ id }) => id))
  await deferEmails(
    tx,
    scope,
    emails.filter(({ id }) => created.has(id)),
  )
}

interface FallbackEmail {
  readonly notificationId: string
  readonly userId: string
  readonly at: string
}

async function deferEmails(tx: Transaction, scope: BucketScope, emails: readonly FallbackEmail[]): Promise<void> {
  if (emails.length === 0) return
  await tx.query({
    name: nameFor(scope, 'notify_defer_fallback'),
    text: textFor(
      scope,
      `INSERT INTO notify.deferred (bucket, id, notification_id, user_id, channels, reason, resume_at)
       SELECT d.bucket, d.id, d.notification_id, d.user_id, ARRAY['email'], 'fallback', d.resume_at
         FROM unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[])
              AS d (bucket, id, notification_id, user_id, resume_at)`,
    ),
    values: [
      bucketsOfIds(scope, emails, (e) => e.notificationId),
      ...columns(
        emails,
        (e) => newIdBeside(e.notificationId),
        (e) => e.notificationId,
        (e) => e.userId,
        (e) => e.at,
      ),
    ],
  })
}
