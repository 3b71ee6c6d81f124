import type { Database, Transaction } from '@gatehouse/kit'
import { bucketOfId, bucketOfUser } from '../../model/id.ts'
import type { DeadLetter, DeadLetterFilter, DeadLetters, LetterCount, Replayed } from '../../store/store.ts'
import { at } from '../nodes/spread-database.ts'
import { eraseSensitive } from '../retention/erase-sensitive.ts'
import { optionalTimestamp, storable, timestamp, withoutNulls } from '../sql/columns.ts'
import { among } from '../sql/plans.ts'
import { canBeReplayed, fields, matching, valuesOf } from './filter.ts'
import { removeLetters, type Selection } from './remove.ts'
import { replay, spacingOf } from './replay.ts'
import { findReplay, recordReplay } from './replays.ts'
import type { LetterRow } from './requeue.ts'
import { stopReplay } from './stop-replay.ts'
import { summarize } from './summary.ts'
import { addInvalid, countFailure } from './topic-failures.ts'

/** Dead letters on PostgreSQL. */
export function postgresDeadLetters(database: Database, buckets: number): DeadLetters {
  const bucketsOf = ({ userId }: DeadLetterFilter) =>
    userId === undefined ? Array.from({ length: buckets }, (_, bucket) => bucket) : [bucketOfUser(userId, buckets)]
  const inEach = async (
    filter: DeadLetterFilter,
    limit: number,
    work: (tx: Transaction, bucket: number, left: number) => Promise<number>,
  ) => {
    let done = 0
    for (const bucket of bucketsOf(filter))
      if (done < limit) done += await at(database, bucket).transaction((tx) => work(tx, bucket, limit - done))
    return done
  }
  return {
    async find(id) {
      const bucket = bucketOfId(id, buckets)
      const { rows } = await at(database, bucket).query<LetterRow>(
        `SELECT ${fields}, CASE WHEN cause IN ('invalid_message', 'failed_message') THEN message->>'text' END AS text
           FROM notify.dead_letter WHERE bucket = $1 AND id = $2`,
        [bucket, id],
      )
      return rows[0] && letterOf(rows[0])
    },
    list: (filter, limit, before) => list(database, bucketsOf(filter), { filter, limit, before }),
    summarize: (groupBy, filter, trend) => summarize(database, bucketsOf(filter), { groupBy, filter, trend }),
    findReplay: (id) => findReplay(database, buckets, id),
    stopReplay: (id, now) => stopReplay(database, buckets, id, now),
    count: (filter, limit, at) =>
      count(database, bucketsOf(filter), { filter, limit, ...(at === undefined ? {} : { at }) }),
    async replay(filter, limit, at, pace): Promise<Replayed> {
      const replayed = await inEach(filter, limit, async (tx, bucket, left) => {
        const spacing = spacingOf(limit - left, pace)
        const ids = await replay(tx, bucket, { filter, limit: left, at, spacing, batchId: pace?.batchId })
        if (pace) await recordReplay(tx, pace.batchId, pace.now, ids)
        return ids.length
      })
      let expired = 0
      for (const bucket of bucketsOf(filter)) expired += await countExpired(database, bucket, filter, at)
      return { replayed, expired }
    },
    discard: (filter, limit) => inEach(filter, limit, (tx, bucket, left) => discard(tx, bucket, filter, left)),
    addInvalid(message, now) {
      const { text, reason, userId } = message
      const invalid = { ...message, text: storable(text), reason: storable(reason) }
      const bucket = userId === undefined ? 0 : bucketOfUser(userId, buckets)
      return at(database, bucket).transaction((tx) => addInvalid(tx, bucket, invalid, now))
    },
    countFailure(message, maxAttempts, now) {
      const { text, reason, request } = message
      const counted = { ...message, text: storable(text), reason: storable(reason) }
      return at(database, bucketOfUser(request.user_id, buckets)).transaction((tx) =>
        countFailure(tx, { buckets, maxAttempts, now }, counted),
      )
    },
  }
}

interface Page {
  readonly filter: DeadLetterFilter
  readonly limit: number
  readonly before: string | undefined
}

async function list(
  database: Database,
  bucketsOfFilter: readonly number[],
  { filter, limit, before }: Page,
): Promise<DeadLetter[]> {
  const found: LetterRow[] = []
  for (const bucket of bucketsOfFilter) {
    const { rows } = await at(database, bucket).query<LetterRow>(
      `SELECT ${fields} FROM notify.dead_letter
            WHERE ${matching} AND ($11::uuid IS NULL OR id < $11) ORDER BY id DESC LIMIT $12`,
      [...valuesOf(bucket, filter), before ?? null, limit],
    )
    found.push(...rows)
  }
  return found
    .sort((a, b) => (a.id < b.id ? 1 : -1))
    .slice(0, limit)
    .map(letterOf)
}

function letterOf(row: LetterRow): DeadLetter {
  const { id, cause, detail, died_at: diedAt, notification_id, user_id, channel, event, expires_at, text = null } = row
  const { provider, fingerprint } = row
  const about = {
    notificationId: notification_id,
    userId: user_id,
    channel,
    event,
    provider,
    expiresAt: expires_at,
    text,
  }
  return { id, cause, detail, diedAt, fingerprint, ...withoutNulls(about) }
}

/** How many there are, up to `limit`; with `at`, of those that can be replayed, and how many of them have expired by then. */
async function count(
  database: Database,
  buckets: readonly number[],
  { filter, limit, at: time }: Selection,
): Promise<LetterCount> {
  let [matched, expired] = [0, 0]
  for (const bucket of buckets) {
    if (matched >= limit) break
    const { rows } = await at(database, bucket).query<{ matched: number; expired: number }>(
      `SELECT count(*)::integer AS matched, count(*) FILTER (WHERE expires_at <= $12)::integer AS expired
         FROM (SELECT expires_at FROM notify.dead_letter
                WHERE ${matching} AND ($12::timestamptz IS NULL OR ${canBeReplayed}) LIMIT $11) AS looked`,
      [...valuesOf(bucket, filter), limit - matched, optionalTimestamp(time)],
    )
    matched += rows[0]?.matched ?? 0
    expired += rows[0]?.expired ?? 0
  }
  return { matched, expired }
}

async function countExpired(
  database: Database,
  bucket: number,
  filter: DeadLetterFilter,
  time: number,
): Promise<number> {
  const { rows } = await at(database, bucket).query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM notify.dead_letter
      WHERE ${matching} AND expires_at <= $11 AND ${canBeReplayed}`,
    [...valuesOf(bucket, filter), timestamp(time)],
  )
  return rows[0]?.count ?? 0
}

async function discard(tx: Transaction, bucket: number, filter: DeadLetterFilter, limit: number): Promise<number> {
  const removed = await removeLetters(tx, bucket, { filter, limit })
  await tx.query(
    `UPDATE notify.delivery SET ended = 'discarded' WHERE bucket = $1 AND ${among('id', '$2')} AND ended = 'dead_letter'`,
    [bucket, removed.map(({ id }) => id)],
  )
  await eraseSensitive(
    tx,
    { count: 1, bucket },
    removed.filter((letter) => letter.notification_id !== null).map(({ id }) => id),
  )
  return removed.length
}

/** Removes up to `most` letters that died before `before`, and the data of sensitive ones with them. Answers how many. */
export async function purgeDeadLetters(
  tx: Transaction,
  bucket: number,
  before: string,
  limit: number,
): Promise<number> {
  const { rows } = await tx.query<{ id: string; notification_id: string | null }>(
    `WITH old AS MATERIALIZED (
       SELECT id FROM notify.dead_letter WHERE bucket = $1 AND died_at < $2::timestamptz
        ORDER BY died_at LIMIT $3 FOR UPDATE SKIP LOCKED
     )
     DELETE FROM notify.dead_letter l WHERE l.bucket = $1 AND l.id = ANY (ARRAY(SELECT id FROM old))
     RETURNING l.id, l.notification_id`,
    [bucket, before, limit],
  )
  await eraseSensitive(
    tx,
    { count: 1, bucket },
    rows.filter(({ notification_id }) => notification_id !== null).map(({ id }) => id),
  )
  return rows.length
}
