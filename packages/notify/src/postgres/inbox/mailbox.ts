import type { Database } from '@gatehouse/kit'
import type { DeliveryState } from '../../model/delivery/delivery-state.ts'
import { bucketOfId } from '../../model/id.ts'
import type { Mailbox, MailboxEntry, MailboxStanding } from '../../store/store.ts'
import { at } from '../nodes/spread-database.ts'
import { columns, timestamp } from '../sql/columns.ts'

interface MailboxRow {
  readonly id: string
  readonly delivery_id: string
  readonly user_id: string
  readonly channel: MailboxEntry['channel']
  readonly address: string
  readonly message: MailboxEntry['content']
  readonly at: number
}

/** The development mailbox on PostgreSQL. */
export function postgresMailbox(database: Database, buckets: number): Mailbox {
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
    async list({ limit, channel = null, userId = null, before = null, deliveryIds = null }) {
      const { rows } = await database.query<MailboxRow>(
        `SELECT * FROM notify.mailbox
          WHERE ($2::text IS NULL OR channel = $2) AND ($3::text IS NULL OR user_id = $3)
            AND ($4::text IS NULL OR (at, id) < (SELECT m.at, m.id FROM notify.mailbox m WHERE m.id = $4))
            AND ($5::uuid[] IS NULL OR delivery_id = ANY($5))
          ORDER BY at DESC, id DESC LIMIT $1`,
        [limit, channel, userId, before, deliveryIds],
      )
      return rows.map(entryOf)
    },
    async standings(entries) {
      const byBucket = Map.groupBy(entries, ({ deliveryId }) => bucketOfId(deliveryId, buckets))
      const found = await Promise.all([...byBucket].map(([bucket, mine]) => standingsIn(database, bucket, mine)))
      return new Map(found.flat())
    },
  }
}

interface StandingRow {
  readonly id: string
  readonly state: DeliveryState | null
  readonly dead: boolean
}

async function standingsIn(
  database: Database,
  bucket: number,
  entries: readonly MailboxEntry[],
): Promise<ReadonlyArray<readonly [string, MailboxStanding]>> {
  const { rows } = await at(database, bucket).query<StandingRow>(
    `SELECT e.id, d.state,
            EXISTS (SELECT FROM notify.device v
                     WHERE v.bucket = $1 AND v.user_id = e.user_id AND v.token = e.address AND v.dead_at IS NOT NULL) AS dead
       FROM unnest($2::text[], $3::uuid[], $4::text[], $5::text[]) AS e (id, delivery_id, user_id, address)
       LEFT JOIN LATERAL (
         SELECT state FROM notify.delivery WHERE bucket = $1 AND id = e.delivery_id LIMIT 1) AS d ON true`,
    [
      bucket,
      ...columns(
        entries,
        (e) => e.id,
        (e) => e.deliveryId,
        (e) => e.userId,
        (e) => e.address,
      ),
    ],
  )
  return rows.map(({ id, state, dead }) => [id, { deadToken: dead, ...(state === null ? {} : { state }) }])
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
