import type { Query, Transaction } from '@gatehouse/kit'
import type { InboxCounts } from '../../store/store.ts'
import { queries } from '../queries/index.ts'
import type { Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfUsers, nameFor, textFor } from '../sql/buckets.ts'

/** Who listens for changed inboxes, and what is said there: users' ids. */
export const inboxChannel = 'notify_inbox'

/**
 * Locks the inboxes of users, in order, and makes their counters where there are none. Whoever changes an inbox holds
 * this lock from before its statement to its commit: so the numbers it gives become visible in their order.
 */
export function openInboxes(scope: BucketScope, users: Iterable<string>): Query & Statement {
  const inOrder = [...new Set(users)].sort()
  return {
    name: nameFor(scope, 'notify_open_inboxes'),
    text: textFor(
      scope,
      `INSERT INTO notify.inbox_count (bucket, user_id)
       SELECT u.bucket, u.user_id
         FROM unnest($1::smallint[], $2::text[]) WITH ORDINALITY AS u (bucket, user_id, place) ORDER BY u.place
       ON CONFLICT (bucket, user_id) DO UPDATE SET user_id = excluded.user_id`,
    ),
    values: [bucketsOfUsers(scope, inOrder), inOrder],
  }
}

/** Locks the inboxes that there are, in the same order: one that was erased meanwhile is not made again. */
export function lockInboxes(bucket: number, users: Iterable<string>): Query {
  return {
    name: 'notify_lock_inboxes',
    text: `SELECT FROM unnest($2::text[]) WITH ORDINALITY AS u (user_id, place)
            CROSS JOIN LATERAL (
              SELECT FROM notify.inbox_count c WHERE c.bucket = $1 AND c.user_id = u.user_id LIMIT 1 FOR UPDATE) AS locked
            ORDER BY u.place`,
    values: [bucket, [...new Set(users)].sort()],
  }
}

/** The counts of an inbox as they are stored; null where there is no inbox. */
export interface CountRow {
  readonly sequence: number | null
  readonly total: number | null
  readonly unseen: number | null
  readonly unread: number | null
}

/** The row of a user who has no inbox. */
export const emptyInbox: CountRow = { sequence: null, total: null, unseen: null, unread: null }

/** The counts of a user; of one who never had an item they are 0. */
export function countsOf({ sequence, total, unseen, unread }: CountRow): InboxCounts {
  return { sequence: sequence ?? 0, total: total ?? 0, unseen: unseen ?? 0, unread: unread ?? 0 }
}

/** What a purge removed, and whose inboxes changed. */
export interface PurgedInboxes {
  readonly removed: number
  readonly users: readonly string[]
}

/**
 * Removes up to `limit` items made before a time, and takes them off the counts, which go with a user's last item; answers
 * how many, and whose.
 */
export async function purgeInboxes(
  tx: Transaction,
  bucket: number,
  before: string,
  limit: number,
): Promise<PurgedInboxes> {
  const { rows } = await tx.query<{ user_id: string; id: string }>(
    `SELECT user_id, id FROM notify.inbox WHERE bucket = $1 AND created_at < $2::timestamptz
      ORDER BY created_at LIMIT $3`,
    [bucket, before, limit],
  )
  if (rows.length === 0) return { removed: 0, users: [] }
  const users = rows.map(({ user_id: user }) => user)
  await tx.query(lockInboxes(bucket, users))
  const { rowCount } = await tx.query(queries['inbox/remove-items'], [bucket, users, rows.map(({ id }) => id)])
  await forgetInboxes(tx, bucket, users)
  return { removed: rowCount, users }
}

/** Removes the counts of those of these users, whose inboxes are locked, who have no item. */
function forgetInboxes(tx: Transaction, bucket: number, users: readonly string[]): Promise<unknown> {
  return tx.query(
    `DELETE FROM notify.inbox_count c WHERE c.bucket = $1 AND c.user_id = ANY($2::text[])
        AND NOT EXISTS (SELECT FROM notify.inbox i WHERE i.bucket = $1 AND i.user_id = c.user_id)`,
    [bucket, [...new Set(users)]],
  )
}
