import type { Transaction } from '@gatehouse/kit'

/** How often the rows of all users are looked at, in milliseconds. */
const sweepMs = 86_400_000

const leftSql = (user: string): string => `
       (EXISTS (SELECT FROM notify.dedup_log l WHERE l.bucket = $1 AND l.user_id = ${user})
     OR EXISTS (SELECT FROM notify.notification n WHERE n.bucket = $1 AND n.user_id = ${user}))`

interface Sweep {
  readonly since: number
  /** The last user that was looked at; undefined at the end. */
  readonly reached: string | undefined
}

/**
 * Removes the cap counters of users who have nothing left: their windows have ended, for a window is no longer than the
 * least retention. A batch of users at a time, in the order of their ids, each once a day: to look at the users of what
 * was purged would look at each of them for every notification they ever got. Resolves with what is to be called once it
 * is committed: only then the next batch follows.
 */
export function createCapSweep(limit: number): (tx: Transaction, bucket: number, now: number) => Promise<() => void> {
  const sweeps = new Map<number, Sweep>()
  return async (tx, bucket, now) => {
    const last = sweeps.get(bucket)
    const sweep = last && now >= last.since && now < last.since + sweepMs ? last : { since: now, reached: '' }
    if (sweep.reached === undefined) return () => {}
    const { rows } = await tx.query<{ user_id: string; needed: boolean }>(
      `SELECT c.user_id, ${leftSql('c.user_id')} AS needed
         FROM (SELECT user_id FROM notify.cap WHERE bucket = $1 AND user_id > $2 ORDER BY user_id LIMIT $3) AS c
        ORDER BY c.user_id`,
      [bucket, sweep.reached, limit],
    )
    await removeCaps(
      tx,
      bucket,
      rows.flatMap(({ user_id: user, needed }) => (needed ? [] : [user])),
    )
    return () => sweeps.set(bucket, { ...sweep, reached: rows.length < limit ? undefined : rows.at(-1)?.user_id })
  }
}

/**
 * Who admits an event of a user writes the log under the lock of this row: a user whose row is locked is left alone, and
 * after the lock a fresh snapshot sees what was written before.
 */
async function removeCaps(tx: Transaction, bucket: number, users: readonly string[]): Promise<void> {
  if (users.length === 0) return
  const { rows } = await tx.query<{ user_id: string }>(
    `SELECT c.user_id FROM notify.cap c WHERE c.bucket = $1 AND c.user_id = ANY($2::text[])
      ORDER BY c.user_id FOR UPDATE SKIP LOCKED`,
    [bucket, users],
  )
  if (rows.length === 0) return
  await tx.query(
    `DELETE FROM notify.cap c WHERE c.bucket = $1 AND c.user_id = ANY($2::text[]) AND NOT ${leftSql('c.user_id')}`,
    [bucket, rows.map(({ user_id: user }) => user)],
  )
}
