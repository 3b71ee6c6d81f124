import { type Database, entityTagOf, type Transaction } from '@gatehouse/kit'
import { bucketOfUser } from '../../model/id.ts'
import type { Recipient, Recipients } from '../../store/store.ts'
import { at, everywhere } from '../nodes/spread-database.ts'
import { columns, timestamp } from '../sql/columns.ts'
import { type RecipientRow, recipientOf } from './profiles.ts'

/** Recipients on PostgreSQL. */
export function postgresRecipients(database: Database, buckets: number): Recipients {
  return {
    async find(userId) {
      const bucket = bucketOfUser(userId, buckets)
      const { rows } = await at(database, bucket).query<RecipientRow>(
        'SELECT user_id, email, phone_number, locale, zoneinfo FROM notify.recipient WHERE bucket = $1 AND user_id = $2',
        [bucket, userId],
      )
      return rows[0] && recipientOf(rows[0])
    },
    async search({ prefix, email, phoneNumber }, after, limit) {
      const values: unknown[] = [after]
      const bind = (value: unknown) => `$${values.push(value)}`
      const conditions = ['user_id > $1']
      if (prefix !== undefined) conditions.push(`user_id LIKE ${bind(patternOf(prefix))}`)
      if (email !== undefined) conditions.push(`lower(email) = ${bind(email)}`)
      if (phoneNumber !== undefined) conditions.push(`phone_number = ${bind(phoneNumber)}`)
      const { rows } = await everywhere(database).query<RecipientRow>(
        `SELECT user_id, email, phone_number, locale, zoneinfo FROM notify.recipient
          WHERE ${conditions.join(' AND ')} ORDER BY user_id LIMIT ${bind(limit)}`,
        values,
      )
      return rows.map(recipientOf)
    },
    async put(recipients, now) {
      const byBucket = Map.groupBy(recipients, ({ userId }) => bucketOfUser(userId, buckets))
      for (const [bucket, mine] of byBucket)
        await at(database, bucket).transaction((tx) => putRecipients(tx, bucket, [...lastOfEach(mine)], now))
    },
    replace(recipient, before, now) {
      const bucket = bucketOfUser(recipient.userId, buckets)
      return at(database, bucket).transaction((tx) => replace(tx, bucket, { recipient, before, now }))
    },
    async setZoneinfo(userId, zoneinfo, now) {
      const bucket = bucketOfUser(userId, buckets)
      await at(database, bucket).query(
        `INSERT INTO notify.recipient (bucket, user_id, zoneinfo, updated_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (bucket, user_id) DO UPDATE SET zoneinfo = excluded.zoneinfo, updated_at = excluded.updated_at`,
        [bucket, userId, zoneinfo, timestamp(now)],
      )
    },
    feed(recipient, now) {
      const bucket = bucketOfUser(recipient.userId, buckets)
      return at(database, bucket).transaction((tx) => applyFeed(tx, bucket, recipient, now))
    },
    async remove(userId) {
      const bucket = bucketOfUser(userId, buckets)
      const text = 'DELETE FROM notify.recipient WHERE bucket = $1 AND user_id = $2'
      const { rowCount } = await at(database, bucket).query(text, [bucket, userId])
      return rowCount > 0
    },
  }
}

/** The pattern of LIKE for texts that begin so. */
function patternOf(prefix: string): string {
  return `${prefix.replaceAll(/[\\%_]/g, '\\$&')}%`
}

/** One entry a user, the last, in order of user_id: a statement can't touch a row twice. */
function lastOfEach(recipients: readonly Recipient[]): Recipient[] {
  const byUser = new Map(recipients.map((recipient) => [recipient.userId, recipient]))
  return [...byUser.values()].sort((a, b) => (a.userId < b.userId ? -1 : 1))
}

/** Under the lock of the user's row, so that of two who read the same one only the first writes. */
async function replace(
  tx: Transaction,
  bucket: number,
  { recipient, before, now }: { readonly recipient: Recipient; readonly before: Recipient; readonly now: number },
): Promise<boolean> {
  const { rows } = await tx.query<RecipientRow>(
    `SELECT user_id, email, phone_number, locale, zoneinfo FROM notify.recipient
      WHERE bucket = $1 AND user_id = $2 FOR UPDATE`,
    [bucket, recipient.userId],
  )
  const [row] = rows
  if (!row || entityTagOf(recipientOf(row)) !== entityTagOf(before)) return false
  await putRecipients(tx, bucket, [recipient], now)
  return true
}

/** Stores recipients of one bucket, each once, in the order in which two writers lock them. */
export async function putRecipients(
  tx: Transaction,
  bucket: number,
  recipients: readonly Recipient[],
  now: number,
): Promise<void> {
  await tx.query({
    text: `INSERT INTO notify.recipient (bucket, user_id, email, phone_number, locale, zoneinfo, updated_at)
           SELECT $1, r.user_id, r.email, r.phone_number, r.locale, r.zoneinfo, $7
             FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) WITH ORDINALITY
                  AS r (user_id, email, phone_number, locale, zoneinfo, place) ORDER BY r.place
           ON CONFLICT (bucket, user_id) DO UPDATE
              SET email = excluded.email, phone_number = excluded.phone_number, locale = excluded.locale,
                  zoneinfo = excluded.zoneinfo, updated_at = excluded.updated_at`,
    values: [
      bucket,
      ...columns(
        recipients,
        (r) => r.userId,
        (r) => r.email ?? null,
        (r) => r.phoneNumber ?? null,
        (r) => r.locale ?? null,
        (r) => r.zoneinfo ?? null,
      ),
      timestamp(now),
    ],
  })
}

/** Under the lock of the user's row, so that two tellings, or a telling and an edit, don't undo each other. */
async function applyFeed(tx: Transaction, bucket: number, feed: Recipient, now: number): Promise<void> {
  const { rows } = await tx.query<RecipientRow & { readonly last_feed: Partial<Recipient> }>(
    `INSERT INTO notify.recipient (bucket, user_id, updated_at) VALUES ($1, $2, $3)
     ON CONFLICT (bucket, user_id) DO UPDATE SET user_id = excluded.user_id
     RETURNING user_id, email, phone_number, locale, zoneinfo, last_feed`,
    [bucket, feed.userId, timestamp(now)],
  )
  const [row] = rows
  if (!row) return
  const next = fedRecipient(recipientOf(row), row.last_feed, feed)
  await putRecipients(tx, bucket, [next], now)
  await tx.query('UPDATE notify.recipient SET last_feed = $3 WHERE bucket = $1 AND user_id = $2', [
    bucket,
    feed.userId,
    JSON.stringify(feed),
  ])
}

const fedFields = ['email', 'phoneNumber', 'locale', 'zoneinfo'] as const

/** The recipient with the fields that the feed changed since it last feed; one it took away is gone. */
function fedRecipient(current: Recipient, last: Partial<Recipient>, feed: Recipient): Recipient {
  const changed = fedFields.filter((field) => feed[field] !== last[field])
  const kept = Object.entries(current).filter(([field]) => !(changed as readonly string[]).includes(field))
  const fresh = changed.flatMap((field) => (feed[field] === undefined ? [] : [[field, feed[field]] as const]))
  return { ...Object.fromEntries([...kept, ...fresh]), userId: feed.userId }
}
