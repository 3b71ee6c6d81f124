import type { Transaction } from '@gatehouse/kit'
import { deliveryIdOf, newIdBeside, notificationIdOf } from '../../model/id.ts'
import type { Message } from '../../model/notification.ts'
import type { AttemptRecord, ClaimedDelivery } from '../../store/store.ts'
import { columns, optionalTimestamp, timestamp } from '../sql/columns.ts'
import { among } from '../sql/plans.ts'

const deliveryId = ({ claimed }: AttemptRecord) => claimed.deliveryId

/** Ends deliveries that expired before a provider accepted them; returns their ids. */
export async function endExpired(
  tx: Transaction,
  bucket: number,
  current: readonly AttemptRecord[],
): Promise<Set<string>> {
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

/** Adds dead letters for deliveries that failed for good, ends them, and defers the emails of failed pushes. */
export async function addDeadLetters(
  tx: Transaction,
  bucket: number,
  current: readonly AttemptRecord[],
): Promise<void> {
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

/** Falls back to email for a failed push, once: not when the notification has an email delivery already. */
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
        (e) => newIdBeside(e.notificationId),
        (e) => e.notificationId,
        (e) => e.userId,
        (e) => e.at,
      ),
    ],
  })
}
