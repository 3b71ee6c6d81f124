import type { Database, Transaction } from '@gatehouse/kit'
import type {
  ActivityCounts,
  CallCount,
  ErrorCount,
  ProviderActivityStore,
  ResultKind,
  WebhookCount,
} from '../../store/store.ts'
import { columns, optionalTimestamp, storable, timestamp, withoutNulls } from '../sql/columns.ts'

/** So many different answers of a provider are kept, those of the last time. */
const maxErrors = 100

interface CallRow {
  readonly provider: string
  readonly result: ResultKind
  readonly slot: number
  readonly calls: number
}

interface ErrorRow extends Omit<CallRow, 'slot' | 'calls'> {
  readonly fingerprint: string
  readonly sample: string
  readonly count: number
  readonly first_at: number
  readonly last_at: number
}

interface WebhookRow {
  readonly provider: string
  readonly accepted_at: number | null
  readonly refused: number
  readonly refused_at: number | null
  readonly refusal: string | null
  readonly unverified: number
  readonly unverified_at: number | null
  readonly unverified_reason: string | null
}

/** What providers did, on PostgreSQL. */
export function postgresProviderActivity(database: Database): ProviderActivityStore {
  return {
    add: (counts) => database.transaction((tx) => add(tx, counts)),
    async read(since) {
      const [calls, errors, webhooks] = await Promise.all([
        database.query<CallRow>(
          `SELECT provider, result, slot, sum(calls)::integer AS calls FROM notify.provider_call
            WHERE at >= $1 GROUP BY provider, result, slot`,
          [timestamp(since)],
        ),
        database.query<ErrorRow>(
          `SELECT provider, fingerprint, result, sample, count, first_at, last_at FROM notify.provider_error
            WHERE last_at >= $1 ORDER BY count DESC, last_at DESC`,
          [timestamp(since)],
        ),
        database.query<WebhookRow>(
          `SELECT provider, accepted_at, refused, refused_at, refusal, unverified, unverified_at, unverified_reason
             FROM notify.provider_webhook`,
        ),
      ])
      return {
        calls: calls.rows,
        errors: errors.rows.map(({ first_at: firstAt, last_at: lastAt, ...row }) => ({ ...row, firstAt, lastAt })),
        webhooks: webhooks.rows.map(webhookOf),
      }
    },
  }
}

function webhookOf({ provider, refused, refusal, unverified, ...row }: WebhookRow): WebhookCount {
  const { accepted_at: acceptedAt, refused_at: refusedAt } = row
  const { unverified_at: unverifiedAt, unverified_reason: unverifiedReason } = row
  const known = withoutNulls({ acceptedAt, refusedAt, refusal, unverifiedAt, unverifiedReason })
  return { provider, refused, unverified, ...known }
}

/** In an order that two writers share. */
async function add(tx: Transaction, { calls, errors, webhooks }: ActivityCounts): Promise<void> {
  if (calls.length > 0) await addCalls(tx, calls)
  if (errors.length > 0) await addErrors(tx, errors)
  if (webhooks.length > 0) await addWebhooks(tx, webhooks)
}

async function addCalls(tx: Transaction, calls: readonly CallCount[]): Promise<void> {
  await tx.query(
    `INSERT INTO notify.provider_call AS c (provider, at, result, slot, calls)
     SELECT n.provider, n.at, n.result, n.slot, n.calls
       FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::smallint[], $5::integer[])
            AS n (provider, at, result, slot, calls) ORDER BY n.at, n.provider, n.result, n.slot
     ON CONFLICT (at, provider, result, slot) DO UPDATE SET calls = c.calls + excluded.calls`,
    columns(
      calls,
      (c) => c.provider,
      (c) => timestamp(c.minute),
      (c) => c.result,
      (c) => c.slot,
      (c) => c.calls,
    ),
  )
}

async function addErrors(tx: Transaction, errors: readonly ErrorCount[]): Promise<void> {
  await tx.query(
    `INSERT INTO notify.provider_error AS e (provider, fingerprint, result, sample, count, first_at, last_at)
     SELECT n.* FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::timestamptz[], $7::timestamptz[])
            AS n (provider, fingerprint, result, sample, count, first_at, last_at) ORDER BY n.provider, n.fingerprint
     ON CONFLICT (provider, fingerprint) DO UPDATE
        SET sample = excluded.sample, count = e.count + excluded.count, last_at = greatest(e.last_at, excluded.last_at)`,
    columns(
      errors,
      (e) => e.provider,
      (e) => e.fingerprint,
      (e) => e.result,
      (e) => storable(e.sample),
      (e) => e.count,
      (e) => timestamp(e.firstAt),
      (e) => timestamp(e.lastAt),
    ),
  )
  await tx.query(
    `DELETE FROM notify.provider_error e
      USING (SELECT provider, fingerprint, row_number() OVER (PARTITION BY provider ORDER BY last_at DESC, fingerprint) AS place
               FROM notify.provider_error WHERE provider = ANY ($1::text[])) AS old
      WHERE e.provider = old.provider AND e.fingerprint = old.fingerprint AND old.place > $2`,
    [[...new Set(errors.map(({ provider }) => provider))], maxErrors],
  )
}

async function addWebhooks(tx: Transaction, webhooks: readonly WebhookCount[]): Promise<void> {
  await tx.query(
    `INSERT INTO notify.provider_webhook AS w
            (provider, accepted_at, refused, refused_at, refusal, unverified, unverified_at, unverified_reason)
     SELECT n.* FROM unnest($1::text[], $2::timestamptz[], $3::bigint[], $4::timestamptz[], $5::text[],
                            $6::bigint[], $7::timestamptz[], $8::text[])
            AS n (provider, accepted_at, refused, refused_at, refusal, unverified, unverified_at, unverified_reason)
      ORDER BY n.provider
     ON CONFLICT (provider) DO UPDATE
        SET accepted_at = greatest(w.accepted_at, excluded.accepted_at), refused = w.refused + excluded.refused,
            refused_at = greatest(w.refused_at, excluded.refused_at), refusal = coalesce(excluded.refusal, w.refusal),
            unverified = w.unverified + excluded.unverified,
            unverified_at = greatest(w.unverified_at, excluded.unverified_at),
            unverified_reason = coalesce(excluded.unverified_reason, w.unverified_reason)`,
    columns(
      webhooks,
      (w) => w.provider,
      (w) => optionalTimestamp(w.acceptedAt),
      (w) => w.refused,
      (w) => optionalTimestamp(w.refusedAt),
      (w) => w.refusal && storable(w.refusal),
      (w) => w.unverified,
      (w) => optionalTimestamp(w.unverifiedAt),
      (w) => w.unverifiedReason && storable(w.unverifiedReason),
    ),
  )
}
