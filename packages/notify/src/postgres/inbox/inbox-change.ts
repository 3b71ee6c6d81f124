import type { Transaction } from '@gatehouse/kit'
import type { InboxChange } from '../../model/notification/inbox-change.ts'
import type { Inbox, InboxChoice } from '../../store/store.ts'
import { timestamp } from '../sql/columns.ts'
import { type CountRow, countsOf, emptyInbox, lockInboxes } from './inbox-count.ts'

interface Changing {
  readonly change: InboxChange
  readonly choice: InboxChoice
  readonly now: number
}

/** What each change makes of an item, and which items it changes at all. `at.now` is the time. */
const transitions: Readonly<Record<InboxChange, { when: string; seen: string; read: string; archived: string }>> = {
  seen: { when: 'seen_at IS NULL', seen: 'at.now', read: 'read_at', archived: 'archived_at' },
  read: { when: 'read_at IS NULL', seen: 'coalesce(seen_at, at.now)', read: 'at.now', archived: 'archived_at' },
  unread: { when: 'read_at IS NOT NULL', seen: 'seen_at', read: 'NULL::timestamptz', archived: 'archived_at' },
  archived: { when: 'archived_at IS NULL', seen: 'coalesce(seen_at, at.now)', read: 'read_at', archived: 'at.now' },
  unarchived: { when: 'archived_at IS NOT NULL', seen: 'seen_at', read: 'read_at', archived: 'NULL::timestamptz' },
}

interface ChangedRow extends CountRow {
  readonly ids: string[]
}

/** The statement that changes the items chosen by id, or up to a number, and the counts with them. */
function changeSql(change: InboxChange, byId: boolean): string {
  const { when, seen, read, archived } = transitions[change]
  const inFeed = change === 'unarchived' ? '' : 'AND archived_at IS NULL'
  const chosen = byId ? 'id = ANY($4::uuid[])' : `($4::bigint IS NULL OR position <= $4) ${inFeed}`
  return `WITH picked AS MATERIALIZED (
  SELECT i.id, c.sequence + row_number() OVER (ORDER BY i.position) AS number, i.seen_at, i.read_at, i.archived_at,
         ${seen} AS seen, ${read} AS read, ${archived} AS archived
    FROM notify.inbox i JOIN notify.inbox_count c ON c.bucket = $1 AND c.user_id = $2
         CROSS JOIN (SELECT $3::timestamptz AS now) AS at
   WHERE i.bucket = $1 AND i.user_id = $2 AND ${when} AND ${chosen}
), put AS (
  UPDATE notify.inbox i
     SET seen_at = p.seen, read_at = p.read, archived_at = p.archived, changed = p.number
    FROM picked p WHERE i.bucket = $1 AND i.user_id = $2 AND i.id = p.id
), sums AS (
  SELECT coalesce(array_agg(id), '{}') AS ids, max(number) AS last,
         ${difference('archived IS NULL', 'archived_at IS NULL')} AS total,
         ${difference('archived IS NULL AND seen IS NULL', 'archived_at IS NULL AND seen_at IS NULL')} AS unseen,
         ${difference('archived IS NULL AND read IS NULL', 'archived_at IS NULL AND read_at IS NULL')} AS unread
    FROM picked
)
UPDATE notify.inbox_count c
   SET sequence = coalesce(s.last, c.sequence), total = c.total + s.total,
       unseen = c.unseen + s.unseen, unread = c.unread + s.unread
  FROM sums s WHERE c.bucket = $1 AND c.user_id = $2
RETURNING c.sequence, c.total, c.unseen, c.unread, s.ids`
}

/** Changes items and counts in one transaction: first the lock, then, on a fresh snapshot, everything else. */
export async function changeInbox(
  tx: Transaction,
  bucket: number,
  userId: string,
  { change, choice, now }: Changing,
): Promise<Awaited<ReturnType<Inbox['change']>>> {
  const byId = 'ids' in choice
  const locked = await tx.query(lockInboxes(bucket, [userId]))
  // Where there is no inbox there is no lock either: the first item may come now, and others change it at once.
  if (locked.rowCount === 0) return { changed: [], counts: countsOf(emptyInbox) }
  const { rows } = await tx.query<ChangedRow>({
    text: changeSql(change, byId),
    values: [bucket, userId, timestamp(now), byId ? choice.ids : (choice.upTo ?? null)],
  })
  const [row] = rows
  return row ? { changed: row.ids, counts: countsOf(row) } : { changed: [], counts: countsOf(emptyInbox) }
}

const difference = (after: string, before: string) => `coalesce(sum((${after})::int - (${before})::int), 0)`
