import type { Database, Notifier, Query, Transaction } from '@gatehouse/kit'
import { notificationIdOf } from '../../model/id.ts'
import type { StateChange } from '../../model/notification/state-change.ts'
import type { AttemptRecord, RecordResult } from '../../store/store.ts'
import { type NewItem, putItems } from '../inbox/inbox.ts'
import { at } from '../nodes/spread-database.ts'
import { eraseSensitive } from '../retention/erase-sensitive.ts'
import { isConflict, runAtOnce, type Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, nameFor, textFor } from '../sql/buckets.ts'
import { columns, timestamp } from '../sql/columns.ts'
import { byIndexes } from '../sql/plans.ts'
import { type StreamOptions, writeChanges } from '../timeline/outbox.ts'
import { appendTimeline, type NewTimelineEntry } from '../timeline/timeline.ts'
import { suppressAddresses } from '../users/suppressions.ts'
import { acknowledge, acknowledgedOf, acknowledgeLate, acknowledgement, isWholeSending } from './acknowledge.ts'
import { addDeadLetters, endExpired } from './end.ts'
import { removeFromQueue, returnToQueue } from './queue-steps.ts'

/** Options of {@link record}. */
export interface RecordOptions extends StreamOptions {
  /** Publishes the users whose inboxes have changed. */
  readonly inboxes: Notifier
}

interface Recorded extends Omit<RecordResult, 'failed'> {
  /** What came into inboxes. */
  readonly items: readonly NewItem[]
}

/**
 * Stores the results of a batch of attempts, in one transaction. The attempt number is the fence: an attempt whose
 * delivery was claimed again since is left out, and so is its inbox item.
 */
export async function record(
  database: Database,
  scope: BucketScope,
  records: readonly AttemptRecord[],
  { streaming, inboxes }: RecordOptions,
): Promise<Omit<RecordResult, 'failed'>> {
  const sorted = [...records].sort((a, b) => (a.claimed.deliveryId < b.claimed.deliveryId ? -1 : 1))
  const { items, ...result } =
    (await recordAtOnce(database, scope, sorted, streaming)) ??
    (await recordStepByStep(database, scope, sorted, streaming))
  if (items.length > 0) inboxes.publish(items.map(({ userId }) => userId))
  return result
}

/**
 * What nearly every batch is: deliveries that were accepted or go on, each still claimed, and whose states nobody has raised.
 * What is to be written is then known from the start, and goes in one message. Undefined where something was otherwise:
 * nothing was written.
 */
async function recordAtOnce(
  database: Database,
  scope: BucketScope,
  records: readonly AttemptRecord[],
  streaming: boolean,
): Promise<Recorded | undefined> {
  if (!records.every(isUsual)) return undefined
  const { again, ending } = byNextStep(records)
  const acks = acknowledgedOf(records)
  const written = { records, sent: new Set(acks.map(deliveryId)), expired: new Set<string>(), overtaken: [] }
  const statements = [
    ...(ending.length > 0 ? [exactly(removeFromQueue(scope, ending), ending.length)] : []),
    ...(again.length > 0 ? [exactly(returnToQueue(scope, again), again.length)] : []),
    ...(acks.length > 0 ? [exactly(acknowledgement(scope, acks), acks.length)] : []),
    ...whatFollows(scope, written, streaming),
  ]
  try {
    const refusing = await runAtOnce(database, statements, scope)
    return refusing ? undefined : { late: 0, deadDevices: [], items: records.flatMap(itemOf) }
  } catch (error) {
    if (isConflict(error)) return undefined
    throw error
  }
}

function isUsual(record: AttemptRecord): boolean {
  const { next, deadTokens, suppressed } = record
  const goesOn = next.kind === 'done' || next.kind === 'again'
  return goesOn && deadTokens.length === 0 && suppressed === undefined && !isFinishedSensitive(record)
}

/** The statement as a precondition: it must return so many rows. */
function exactly({ text, values }: Statement, count: number): Statement {
  return {
    precondition: true,
    text: `WITH found AS (${text}) SELECT count(*) = $${values.length + 1}::integer FROM found`,
    values: [...values, count],
  }
}

/** Whatever the batch is, step by step: what is written depends on what is found. */
function recordStepByStep(
  database: Database,
  scope: BucketScope,
  records: readonly AttemptRecord[],
  streaming: boolean,
): Promise<Recorded> {
  return at(database, scope.bucket).transaction(async (tx) => {
    const { again, ending } = byNextStep(records)
    const [, ...kept] = await Promise.all([
      scope.bucket === undefined ? tx.query(byIndexes) : undefined,
      leaveQueue(tx, ending.length > 0 ? removeFromQueue(scope, ending) : undefined),
      leaveQueue(tx, again.length > 0 ? returnToQueue(scope, again) : undefined),
    ])
    const { true: current = [], false: stale = [] } = Object.groupBy(
      records,
      ({ claimed }) => `${kept.some((ids) => ids.has(claimed.deliveryId))}`,
    )
    const [sent, expired] = await Promise.all([acknowledge(tx, scope, current), endExpired(tx, scope, current)])
    const [deadDevices] = await Promise.all([
      markTokensDead(tx, scope, current),
      addDeadLetters(tx, scope, current),
      suppressAddresses(tx, scope, current),
    ])
    await eraseSensitive(tx, scope, current.filter(isFinishedSensitive).map(deliveryId))
    const overtaken = await acknowledgeLate(tx, scope, stale)
    await tx.finish(whatFollows(scope, { records: current, sent, expired, overtaken }, streaming))
    return {
      late: records.length - current.length - overtaken.length,
      deadDevices,
      items: current.flatMap(itemOf),
    }
  })
}

function byNextStep(records: readonly AttemptRecord[]) {
  const { true: again = [], false: ending = [] } = Object.groupBy(records, ({ next }) => `${next.kind === 'again'}`)
  return { again, ending }
}

/** What became of a batch: the ids of those that were sent by it, and of those that it ended. */
interface Outcome {
  readonly records: readonly AttemptRecord[]
  readonly sent: ReadonlySet<string>
  readonly expired: ReadonlySet<string>
  /** Others, whose work had ended before they were accepted. */
  readonly overtaken: readonly AttemptRecord[]
}

/** The last statements. The inboxes come at the end: their locks last only as long as the server takes. */
function whatFollows(
  scope: BucketScope,
  { records, sent, expired, overtaken }: Outcome,
  streaming: boolean,
): Array<Query & Statement> {
  const entries = [...records, ...overtaken].filter((each) => !(sent.has(deliveryId(each)) && isWholeSending(each)))
  return [
    ...appendTimeline(
      scope,
      entries.map((each) => entryOf(each, sent)),
    ),
    ...(streaming ? stream(scope, records, sent, expired) : []),
    ...putItems(scope, records.flatMap(itemOf)),
  ]
}

/** The inbox item of an accepted attempt. */
function itemOf({ claimed, acknowledged, at }: AttemptRecord) {
  if (!acknowledged?.inInbox) return []
  const { subject, body } = claimed.message
  const item = { id: claimed.deliveryId, userId: claimed.userId, event: claimed.event, createdAt: at, body }
  return [{ ...item, ...(subject === undefined ? {} : { subject }) }]
}

/** The deliveries whose claims stood. */
async function leaveQueue(tx: Transaction, query: Query | undefined): Promise<ReadonlySet<string>> {
  const rows = query ? (await tx.query<{ delivery_id: string }>(query)).rows : []
  return new Set(rows.map((row) => row.delivery_id))
}

const deliveryId = ({ claimed }: AttemptRecord) => claimed.deliveryId

function entryOf({ claimed, at, what, detail }: AttemptRecord, sent: ReadonlySet<string>): NewTimelineEntry {
  const { deliveryId, channel, attempt } = claimed
  return {
    notificationId: notificationIdOf(deliveryId),
    deliveryId,
    channel,
    at,
    entryType: what,
    ...(sent.has(deliveryId) ? { state: 'sent' } : {}),
    detail: { attempt, ...detail },
  }
}

/** Answers the provider of each device that was living. */
async function markTokensDead(
  tx: Transaction,
  scope: BucketScope,
  current: readonly AttemptRecord[],
): Promise<readonly string[]> {
  const tokens = current.flatMap(({ claimed, deadTokens }) =>
    deadTokens.map((dead) => ({ ...dead, userId: claimed.userId, deliveryId: claimed.deliveryId })),
  )
  if (tokens.length === 0) return []
  const { rows } = await tx.query<{ provider: string }>({
    name: nameFor(scope, 'notify_mark_tokens_dead'),
    text: textFor(
      scope,
      `UPDATE notify.device d SET dead_at = t.at, dead_reason = t.reason
         FROM unnest($1::smallint[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[])
                AS t (bucket, user_id, token, at, reason, provider)
        WHERE d.bucket = t.bucket AND d.user_id = t.user_id AND d.token = t.token AND d.dead_at IS NULL
          AND d.registered_at <= t.at
        RETURNING t.provider`,
    ),
    values: [
      bucketsOfIds(scope, tokens, (t) => t.deliveryId),
      ...columns(
        tokens,
        (t) => t.userId,
        (t) => t.token,
        (t) => timestamp(t.at),
        (t) => t.reason,
        (t) => t.provider,
      ),
    ],
  })
  return rows.map(({ provider }) => provider)
}

/** Steps after which nothing is sent and nothing can be replayed. */
const ends: ReadonlySet<AttemptRecord['next']['kind']> = new Set(['done', 'expired'])

function isFinishedSensitive({ claimed, next }: AttemptRecord): boolean {
  return claimed.sensitive && ends.has(next.kind)
}

function stream(
  scope: BucketScope,
  current: readonly AttemptRecord[],
  sent: ReadonlySet<string>,
  expired: ReadonlySet<string>,
): Array<Query & Statement> {
  const changes = current.flatMap(({ claimed, at }): StateChange[] => {
    if (sent.has(claimed.deliveryId)) return [{ ...claimed, state: 'sent', at }]
    return expired.has(claimed.deliveryId) ? [{ ...claimed, state: 'queued', ended: 'expired', at }] : []
  })
  return writeChanges(scope, changes)
}
