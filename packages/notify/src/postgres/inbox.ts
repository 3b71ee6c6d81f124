import type { Database } from '@gatehouse/kit'
import { bucketOfUser } from '../ids.ts'
import type { Inbox, InboxItem, Mailbox, MailboxEntry } from '../store.ts'
import { columns, present, timestamp } from './words.ts'

interface InboxRow {
  readonly id: string
  readonly event: string
  readonly subject: string | null
  readonly body: string
  readonly created_at: number
  readonly read_at: number | null
}

export function postgresInbox(database: Database, buckets: number): Inbox {
  return {
    async put(items) {
      for (const [bucket, mine] of Map.groupBy(items, ({ userId }) => bucketOfUser(userId, buckets)))
        await database.query({
          name: 'notify_inbox_put',
          text: `INSERT INTO notify.inbox (bucket, user_id, id, event, subject, body, created_at)
                 SELECT $1, i.user_id, i.id, i.event, i.subject, i.body, i.created_at
                   FROM unnest($2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::timestamptz[])
                        AS i (user_id, id, event, subject, body, created_at)
                 ON CONFLICT (bucket, user_id, id) DO NOTHING`,
          values: [
            bucket,
            ...columns(
              mine,
              (i) => i.userId,
              (i) => i.id,
              (i) => i.event,
              (i) => i.subject ?? null,
              (i) => i.body,
              (i) => timestamp(i.createdAt),
            ),
          ],
        })
    },
    async list(userId, limit, before) {
      const { rows } = await database.query<InboxRow>(
        `SELECT id, event, subject, body, created_at, read_at FROM notify.inbox
          WHERE bucket = $1 AND user_id = $2 AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4`,
        [bucketOfUser(userId, buckets), userId, before ?? null, limit],
      )
      return rows.map(itemOf)
    },
  }
}

function itemOf({ id, event, subject, body, created_at: createdAt, read_at: readAt }: InboxRow): InboxItem {
  return { id, event, body, createdAt, ...present({ subject, readAt }) }
}

interface MailboxRow {
  readonly id: string
  readonly delivery_id: string
  readonly user_id: string
  readonly channel: MailboxEntry['channel']
  readonly address: string
  readonly message: MailboxEntry['content']
  readonly at: number
}

export function postgresMailbox(database: Database): Mailbox {
  return {
    async add(entries) {
      await database.query(
        `INSERT INTO notify.mailbox (id, delivery_id, user_id, channel, address, message, at)
         SELECT m.id, m.delivery_id, m.user_id, m.channel, m.address, m.message::jsonb, m.at
           FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[])
                AS m (id, delivery_id, user_id, channel, address, message, at)
         ON CONFLICT (id) DO NOTHING`,
        columns(
          entries,
          (m) => m.id,
          (m) => m.deliveryId,
          (m) => m.userId,
          (m) => m.channel,
          (m) => m.address,
          (m) => JSON.stringify(m.content),
          (m) => timestamp(m.at),
        ),
      )
    },
    async find(id) {
      const { rows } = await database.query<MailboxRow>('SELECT * FROM notify.mailbox WHERE id = $1', [id])
      return rows[0] && entryOf(rows[0])
    },
    async list(limit) {
      const { rows } = await database.query<MailboxRow>(
        'SELECT * FROM notify.mailbox ORDER BY at DESC, id DESC LIMIT $1',
        [limit],
      )
      return rows.map(entryOf)
    },
  }
}

function entryOf({
  id,
  delivery_id: deliveryId,
  user_id: userId,
  channel,
  address,
  message,
  at,
}: MailboxRow): MailboxEntry {
  return { id, deliveryId, userId, channel, address, content: message, at }
}
