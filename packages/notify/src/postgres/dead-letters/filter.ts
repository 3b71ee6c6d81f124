import type { DeadLetterFilter } from '../../store/store.ts'
import { optionalTimestamp } from '../sql/columns.ts'

/** The provider whose answer it was: the last one that failed. */
export const providerSql = `CASE WHEN cause = 'permanent' THEN substring(detail FROM '^([A-Za-z0-9_.-]{1,64}) answered ')
  ELSE message->'failedProviders'->>-1 END`

/**
 * The same for letters that died of the same: their cause and detail without addresses, quotes, ids and long numbers. Short
 * numbers stay: they are the codes of replies.
 */
export const fingerprintSql = String.raw`substr(md5(cause || ' ' || regexp_replace(regexp_replace(regexp_replace(
  left(lower(detail), 1000), '[^\s<>"'']+@[^\s<>"'']+', '@', 'g'), '"[^"]*"|<[^>]*>', '"', 'g'),
  '[0-9a-f-]{8,}|\+?\d{4,}', '#', 'g')), 1, 16)`

/** The columns of a letter. */
export const fields = `id, notification_id, user_id, channel, event, cause, detail, died_at, expires_at, ${providerSql} AS provider,
  ${fingerprintSql} AS fingerprint`

/** Whether a letter is one of those that a filter names; its parameters are {@link valuesOf}. */
export const matching = `bucket = $1 AND ($2::text IS NULL OR cause = $2) AND ($3::text IS NULL OR channel = $3)
  AND ($4::text IS NULL OR event = $4) AND ($5::text IS NULL OR user_id = $5) AND ($6::uuid[] IS NULL OR id = ANY($6))
  AND ($7::text IS NULL OR ${providerSql} = $7) AND ($8::text IS NULL OR ${fingerprintSql} = $8)
  AND ($9::timestamptz IS NULL OR died_at >= $9) AND ($10::timestamptz IS NULL OR died_at < $10)`

/**
 * Whether a letter can be replayed: one that was never written needs its notification, and one that is no notify request
 * can't be. The notification is looked up by its key, letter by letter: an `EXISTS` may be answered by reading all of them.
 */
export const canBeReplayed = `(message IS NOT NULL OR (
    SELECT true FROM notify.notification n WHERE n.bucket = $1 AND n.id = dead_letter.notification_id))
  AND NOT (cause = 'invalid_message' AND message->'request' IS NULL)`

/** The parameters `$1` to `$10` of {@link matching}. */
export function valuesOf(bucket: number, filter: DeadLetterFilter): unknown[] {
  const { cause, channel, event, userId, ids, provider, fingerprint, from, to } = filter
  const own = [cause, channel, event, userId, ids, provider, fingerprint].map((value) => value ?? null)
  return [bucket, ...own, optionalTimestamp(from), optionalTimestamp(to)]
}
