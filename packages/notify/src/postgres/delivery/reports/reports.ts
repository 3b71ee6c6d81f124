import type { Database, Transaction } from '@gatehouse/kit'
import { type DeliveryState, nextState } from '../../../model/delivery/delivery-state.ts'
import { all } from '../../../model/delivery/suppression.ts'
import { bucketOfId, channelOf, notificationIdOf } from '../../../model/id.ts'
import { maskReason } from '../../../model/masking.ts'
import type { FreshReport, ProviderReport, ReportOutcome } from '../../../store/store.ts'
import { at } from '../../nodes/spread-database.ts'
import { eraseSensitive } from '../../retention/erase-sensitive.ts'
import { type BucketScope, type Buckets, bucketsOfIds, groupByBucket, nameFor, textFor } from '../../sql/buckets.ts'
import { byIndexes, keyOf, useCustomPlans } from '../../sql/plans.ts'
import { type StreamOptions, writeChanges } from '../../timeline/outbox.ts'
import { appendTimeline } from '../../timeline/timeline.ts'
import { addSuppressions } from '../../users/suppressions.ts'
import { findUnrecorded, sensitiveAmong } from './receipts.ts'
import { type AppliedReport, entryOf, isInDelivery, lastOfEach, type ReportedDelivery, raiseStates } from './states.ts'
import { unseenReports } from './unseen-reports.ts'

/** Options of {@link applyReports}. */
export interface ReportOptions extends StreamOptions {
  readonly buckets: Buckets
  /** Unix milliseconds. */
  readonly now: number
  /** Called for reports that were not there before, once they are committed. */
  readonly onFresh?: (report: FreshReport) => void
}

/**
 * Applies reports in one transaction, or those of each bucket where buckets are on different nodes, under the locks of
 * their dead letters, their work and their deliveries: an event id that was seen, or a pair not in the table of states,
 * changes nothing. Answers for each.
 */
export async function applyReports(
  database: Database,
  reports: readonly ProviderReport[],
  { buckets, now, streaming, onFresh }: ReportOptions,
): Promise<ReportOutcome[]> {
  const outcomes = new Map<ProviderReport, ReportOutcome>()
  const known = reports.filter(({ deliveryId }) => channelOf(deliveryId))
  const groups = groupByBucket(buckets, known, ({ deliveryId }, count) => bucketOfId(deliveryId, count))
  // A bucket that fails stops no other: who repeats all of them finds the others stored.
  const errors: unknown[] = []
  for (const { scope, items } of groups) {
    try {
      const applied = await at(database, scope.bucket).transaction((tx) =>
        applyTogether(tx, scope, items, { now, streaming }),
      )
      for (const [report, outcome] of applied.outcomes) outcomes.set(report, outcome)
      if (onFresh) for (const report of applied.fresh) onFresh(countedOf(report))
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors.length === 1 ? errors[0] : new AggregateError(errors)
  return reports.map((report) => outcomes.get(report) ?? 'unknown')
}

async function applyTogether(
  tx: Transaction,
  scope: BucketScope,
  reports: readonly ProviderReport[],
  { now, streaming }: Omit<ReportOptions, 'buckets'>,
): Promise<{ outcomes: Map<ProviderReport, ReportOutcome>; fresh: readonly AppliedReport[] }> {
  const ids = [...new Set(reports.map(({ deliveryId }) => deliveryId))].sort()
  const { deliveries, letters } = await lock(tx, scope, ids)
  const known = reports.filter(({ deliveryId }) => deliveries.has(deliveryId))
  const { true: receipts = [], false: others = [] } = Object.groupBy(
    known,
    ({ byRecipient }) => `${byRecipient === true}`,
  )
  const [seen, { reports: unseen, sensitive }, quoted] = await Promise.all([
    unseenReports(tx, scope, others, deliveries),
    findUnrecorded(tx, scope, receipts),
    sensitiveAmong(tx, scope, others),
  ])
  const counted = new Set([...seen, ...unseen])
  const fresh = follow(
    known.filter((report) => counted.has(report)),
    deliveries,
  ).map((each) => withoutQuotes(each, sensitive.union(quoted)))
  const changed = fresh.filter(({ state }) => state !== undefined)
  const entries = fresh.filter((each) => !isInDelivery(each)).map(entryOf)
  if (fresh.length > 0)
    await Promise.all([
      // First: that it was delivered has an earlier id than what follows it.
      raiseStates(tx, scope, changed),
      ...appendTimeline(scope, entries).map((query) => tx.query(query)),
      removeFromQueue(tx, scope, changed),
      removeDeadLetters(tx, scope, letters.intersection(new Set(changed.map(({ delivery }) => delivery.id)))),
      addSuppressions(tx, scope, fresh.flatMap(suppressionsOf), now),
      streaming ? stream(tx, scope, changed) : undefined,
    ])
  const outcomes = new Map<ProviderReport, ReportOutcome>(known.map((report) => [report, 'duplicate']))
  for (const { original, state } of fresh) outcomes.set(original, state ? 'changed' : 'unchanged')
  return { outcomes, fresh }
}

function countedOf(applied: AppliedReport): FreshReport {
  const { report, delivery, channel } = applied
  const { report: name, provider, code, machine = false } = report
  const [suppression] = suppressionsOf(applied)
  return {
    ...{ channel, provider: delivery.provider ?? provider, report: name, machine },
    ...(code === undefined ? {} : { code }),
    ...(delivery.address === null ? {} : { address: delivery.address }),
    ...(suppression === undefined ? {} : { suppresses: suppression.reason }),
  }
}

const reportedColumns = 't.id, t.user_id, t.address, t.provider, t.state, t.delivered_report'

/** Locks what reports are about, each kind in the order of the ids, which are sorted. */
async function lock(tx: Transaction, scope: BucketScope, ids: readonly string[]) {
  const values = [bucketsOfIds(scope, ids, (id) => id), ids]
  const locking = (name: string, table: string, key: string, fields = `t.${key}`) => ({
    name: nameFor(scope, name),
    text: textFor(
      scope,
      `SELECT found.* FROM unnest($1::smallint[], $2::uuid[]) WITH ORDINALITY AS r (bucket, id, place)
        CROSS JOIN LATERAL (
          SELECT ${fields} FROM ${table} t WHERE t.bucket = r.bucket AND t.${key} = r.id LIMIT 1 FOR UPDATE) AS found
        ORDER BY r.place`,
    ),
    values,
  })
  const [, letters, , { rows }] = await Promise.all([
    scope.bucket === undefined ? tx.query(byIndexes) : useCustomPlans(tx),
    tx.query<{ id: string }>(locking('notify_lock_reported_letters', 'notify.dead_letter', 'id')),
    tx.query(locking('notify_lock_reported_queue', 'notify.delivery_queue', 'delivery_id')),
    tx.query<ReportedDelivery>(locking('notify_lock_reported', 'notify.delivery', 'id', reportedColumns)),
  ])
  return { deliveries: new Map(rows.map((row) => [row.id, row])), letters: new Set(letters.rows.map(({ id }) => id)) }
}

/** Takes each delivery through its reports, in the order they came. */
function follow(
  reports: readonly ProviderReport[],
  deliveries: ReadonlyMap<string, ReportedDelivery>,
): AppliedReport[] {
  const states = new Map<string, DeliveryState>()
  return reports.flatMap((report) => {
    const delivery = deliveries.get(report.deliveryId)
    const channel = channelOf(report.deliveryId)
    if (!delivery || !channel) return []
    const state = report.machine ? undefined : nextState(states.get(delivery.id) ?? delivery.state, report.report)
    if (state) states.set(delivery.id, state)
    return [{ report, delivery, channel, state }]
  })
}

/**
 * Of a sensitive message nothing is kept, not even where a report quotes it: a mail server may name the link that it
 * blocks. The code of its reply stays.
 */
function withoutQuotes(
  fresh: AppliedReport,
  sensitive: ReadonlySet<string>,
): AppliedReport & { original: ProviderReport } {
  const { report: original, delivery } = fresh
  if (!sensitive.has(delivery.id)) return { ...fresh, original }
  const { link: _, reason, ...report } = original
  return { ...fresh, original, report: { ...report, ...(reason === undefined ? {} : { reason: maskReason(reason) }) } }
}

/**
 * A report that overtakes our record of the ack ends the work: whom it reached is not tried again. Of a push to several
 * devices nobody knows which one it reached, and the others may still be waiting.
 */
async function removeFromQueue(tx: Transaction, scope: BucketScope, changed: readonly AppliedReport[]): Promise<void> {
  const overtaken = lastOfEach(changed).flatMap(({ delivery: { id, state } }) => (state === 'queued' ? [id] : []))
  if (overtaken.length === 0) return
  const { rows } = await tx.query<{ delivery_id: string; sensitive: boolean }>({
    name: nameFor(scope, 'notify_end_reported'),
    text: textFor(
      scope,
      `DELETE FROM notify.delivery_queue w USING unnest($1::smallint[], $2::uuid[]) AS r (bucket, id)
        WHERE ${keyOf('w', 'r', 'delivery_id', 'id')}
          AND (w.channel <> 'push' OR json_array_length(w.message->'targets') = 1)
    RETURNING w.delivery_id, w.sensitive`,
    ),
    values: [bucketsOfIds(scope, overtaken, (id) => id), overtaken],
  })
  const sensitive = rows.filter((row) => row.sensitive).map((row) => row.delivery_id)
  if (sensitive.length > 0) await eraseSensitive(tx, scope, sensitive)
}

/** Letters that were original up too early: whom they reached after all must not get them again by a replay. */
async function removeDeadLetters(tx: Transaction, scope: BucketScope, found: ReadonlySet<string>): Promise<void> {
  if (found.size === 0) return
  const letters = [...found]
  await tx.query({
    name: nameFor(scope, 'notify_remove_dead_letters'),
    text: textFor(
      scope,
      `DELETE FROM notify.dead_letter l USING unnest($1::smallint[], $2::uuid[]) AS r (bucket, id)
        WHERE ${keyOf('l', 'r')}`,
    ),
    values: [bucketsOfIds(scope, letters, (id) => id), letters],
  })
  await eraseSensitive(tx, scope, letters)
}

/** What is sent to an address that bounced or complained is left out from now on, as far as the report says. */
function suppressionsOf({ report, delivery, channel }: AppliedReport) {
  const { suppressing, reason: detail } = report
  if (delivery.address === null || channel === 'in-app' || !suppressing) return []
  const about = { userId: delivery.user_id, channel, address: delivery.address, scope: all }
  return [{ ...about, ...(detail === undefined ? {} : { detail }), ...suppressing }]
}

async function stream(tx: Transaction, scope: BucketScope, changed: readonly AppliedReport[]): Promise<void> {
  if (changed.length === 0) return
  const events = await eventsOf(tx, scope, changed)
  const changes = changed.map(({ report, delivery, state = delivery.state }) => {
    const event = events.get(notificationIdOf(delivery.id))
    return { deliveryId: delivery.id, userId: delivery.user_id, event, state, at: report.at }
  })
  for (const query of writeChanges(scope, changes)) await tx.query(query)
}

/** The event types of the notifications that the reports are about, but of those that were purged. */
async function eventsOf(
  tx: Transaction,
  scope: BucketScope,
  changed: readonly AppliedReport[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(changed.map(({ delivery }) => notificationIdOf(delivery.id)))]
  const { rows } = await tx.query<{ id: string; event: string }>({
    name: nameFor(scope, 'notify_events_of_reports'),
    text: textFor(
      scope,
      `SELECT r.id, found.event FROM unnest($1::smallint[], $2::uuid[]) AS r (bucket, id)
        CROSS JOIN LATERAL (
          SELECT n.event FROM notify.notification n WHERE n.bucket = r.bucket AND n.id = r.id LIMIT 1) AS found`,
    ),
    values: [bucketsOfIds(scope, ids, (id) => id), ids],
  })
  return new Map(rows.map(({ id, event }) => [id, event]))
}
