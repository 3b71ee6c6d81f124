import type { Database, Transaction } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import { type DeliveryState, nextState } from '../../model/delivery-state.ts'
import { bucketOfId, channelOf, notificationIdOf } from '../../model/id.ts'
import { maskReason } from '../../model/masking.ts'
import { all } from '../../model/suppression.ts'
import type { ProviderReport, ReportOutcome } from '../../store/store.ts'
import { eraseSensitive } from '../retention/erase-sensitive.ts'
import { columns, timestamp } from '../sql/columns.ts'
import { among, useCustomPlans } from '../sql/plans.ts'
import { type StreamOptions, writeChanges } from '../timeline/outbox.ts'
import { appendTimeline, type NewTimelineEntry } from '../timeline/timeline.ts'
import { addSuppressions } from '../users/suppressions.ts'
import { findUnrecorded, sensitiveAmong } from './receipts.ts'

interface ReportedDelivery {
  readonly id: string
  readonly user_id: string
  readonly address: string | null
  readonly state: DeliveryState
}

/** A report that was not there before, with the delivery it is about and the state it leads to, where it leads to one. */
interface FreshReport {
  readonly report: ProviderReport
  readonly delivery: ReportedDelivery
  readonly channel: Channel
  readonly state: DeliveryState | undefined
}

/** Options of {@link applyReports}. */
export interface ReportOptions extends StreamOptions {
  readonly buckets: number
  /** Unix milliseconds. */
  readonly now: number
}

/**
 * Applies reports, those of one bucket in one transaction, under the locks of their dead letters, their work and their
 * deliveries: an event id that was seen, or a pair not in the table of states, changes nothing. Answers for each.
 */
export async function applyReports(
  database: Database,
  reports: readonly ProviderReport[],
  { buckets, now, streaming }: ReportOptions,
): Promise<ReportOutcome[]> {
  const outcomes = new Map<ProviderReport, ReportOutcome>()
  const known = reports.filter(({ deliveryId }) => channelOf(deliveryId))
  const byBucket = Map.groupBy(known, ({ deliveryId }) => bucketOfId(deliveryId, buckets))
  for (const [bucket, mine] of byBucket) {
    const applied = await database.transaction((tx) => applyInBucket(tx, bucket, mine, { now, streaming }))
    for (const [report, outcome] of applied) outcomes.set(report, outcome)
  }
  return reports.map((report) => outcomes.get(report) ?? 'unknown')
}

async function applyInBucket(
  tx: Transaction,
  bucket: number,
  reports: readonly ProviderReport[],
  { now, streaming }: Omit<ReportOptions, 'buckets'>,
): Promise<Map<ProviderReport, ReportOutcome>> {
  const ids = [...new Set(reports.map(({ deliveryId }) => deliveryId))].sort()
  const { deliveries, letters } = await lock(tx, bucket, ids)
  const known = reports.filter(({ deliveryId }) => deliveries.has(deliveryId))
  const { true: receipts = [], false: others = [] } = Object.groupBy(
    known,
    ({ byRecipient }) => `${byRecipient === true}`,
  )
  const [seen, { reports: unseen, sensitive }, quoted] = await Promise.all([
    firstSeen(tx, bucket, others, now),
    findUnrecorded(tx, bucket, receipts),
    sensitiveAmong(tx, bucket, others),
  ])
  const counted = new Set([...seen, ...unseen])
  const fresh = follow(
    known.filter((report) => counted.has(report)),
    deliveries,
  ).map((each) => withoutQuotes(each, sensitive.union(quoted)))
  const changed = fresh.filter(({ state }) => state !== undefined)
  if (fresh.length > 0)
    await Promise.all([
      ...appendTimeline({ count: 1, bucket }, fresh.map(entryOf)).map((query) => tx.query(query)),
      raiseStates(tx, bucket, changed),
      removeFromQueue(tx, bucket, changed),
      removeDeadLetters(tx, bucket, letters.intersection(new Set(changed.map(({ delivery }) => delivery.id)))),
      addSuppressions(tx, bucket, fresh.flatMap(suppressionsOf), now),
      streaming ? stream(tx, bucket, changed) : undefined,
    ])
  const outcomes = new Map<ProviderReport, ReportOutcome>(known.map((report) => [report, 'duplicate']))
  for (const { original, state } of fresh) outcomes.set(original, state ? 'changed' : 'unchanged')
  return outcomes
}

async function lock(tx: Transaction, bucket: number, ids: readonly string[]) {
  const [, letters, , { rows }] = await Promise.all([
    useCustomPlans(tx),
    tx.query<{ id: string }>({
      name: 'notify_lock_reported_letters',
      text: `SELECT id FROM notify.dead_letter WHERE bucket = $1 AND ${among('id', '$2')} ORDER BY id FOR UPDATE`,
      values: [bucket, ids],
    }),
    tx.query({
      name: 'notify_lock_reported_queue',
      text: `SELECT FROM notify.delivery_queue WHERE bucket = $1 AND ${among('delivery_id', '$2')} ORDER BY delivery_id FOR UPDATE`,
      values: [bucket, ids],
    }),
    tx.query<ReportedDelivery>({
      name: 'notify_lock_reported',
      text: `SELECT id, user_id, address, state FROM notify.delivery
              WHERE bucket = $1 AND ${among('id', '$2')} ORDER BY id FOR UPDATE`,
      values: [bucket, ids],
    }),
  ])
  return { deliveries: new Map(rows.map((row) => [row.id, row])), letters: new Set(letters.rows.map(({ id }) => id)) }
}

/** Keeps the event ids, in an order that two writers share. Answers the reports whose id was not there before. */
async function firstSeen(
  tx: Transaction,
  bucket: number,
  reports: readonly ProviderReport[],
  now: number,
): Promise<ProviderReport[]> {
  const keyOf = (provider: string, eventId: string) => JSON.stringify([provider, eventId])
  const first = new Map<string, ProviderReport>()
  for (const report of reports) {
    const key = keyOf(report.provider, report.eventId)
    if (!first.has(key)) first.set(key, report)
  }
  if (first.size === 0) return []
  const inOrder = [...first].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, report]) => report)
  const { rows } = await tx.query<{ provider: string; event_id: string }>({
    name: 'notify_first_seen',
    text: `INSERT INTO notify.provider_event (bucket, provider, event_id, at)
           SELECT $1, e.provider, e.event_id, $2
             FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS e (provider, event_id, place) ORDER BY e.place
           ON CONFLICT (bucket, provider, event_id) DO NOTHING RETURNING provider, event_id`,
    values: [
      bucket,
      timestamp(now),
      ...columns(
        inOrder,
        (r) => r.provider,
        (r) => r.eventId,
      ),
    ],
  })
  const inserted = new Set(rows.map((row) => keyOf(row.provider, row.event_id)))
  return [...first].flatMap(([key, report]) => (inserted.has(key) ? [report] : []))
}

/** Takes each delivery through its reports, in the order they came. */
function follow(reports: readonly ProviderReport[], deliveries: ReadonlyMap<string, ReportedDelivery>): FreshReport[] {
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
function withoutQuotes(fresh: FreshReport, sensitive: ReadonlySet<string>): FreshReport & { original: ProviderReport } {
  const { report: original, delivery } = fresh
  if (!sensitive.has(delivery.id)) return { ...fresh, original }
  const { link: _, reason, ...report } = original
  return { ...fresh, original, report: { ...report, ...(reason === undefined ? {} : { reason: maskReason(reason) }) } }
}

function entryOf({ report, delivery, channel, state }: FreshReport): NewTimelineEntry {
  const { provider, reason, soft, machine, link } = report
  return {
    notificationId: notificationIdOf(delivery.id),
    deliveryId: delivery.id,
    channel,
    at: report.at,
    entryType: report.report,
    state,
    detail: { provider, reason, soft, machine, link },
  }
}

/** The last state of each delivery whose state changes. */
function lastOfEach(changed: readonly FreshReport[]): FreshReport[] {
  return [...new Map(changed.map((each) => [each.delivery.id, each])).values()]
}

async function raiseStates(tx: Transaction, bucket: number, changed: readonly FreshReport[]): Promise<void> {
  if (changed.length === 0) return
  await tx.query({
    name: 'notify_raise_states',
    text: `UPDATE notify.delivery d SET state = r.state, provider = coalesce(d.provider, r.provider), ended = NULL
             FROM unnest($2::uuid[], $3::text[], $4::text[]) AS r (id, state, provider)
            WHERE d.bucket = $1 AND ${among('d.id', '$2')} AND d.id = r.id`,
    values: [
      bucket,
      ...columns(
        lastOfEach(changed),
        (f) => f.delivery.id,
        (f) => f.state,
        (f) => (f.report.byRecipient ? null : f.report.provider),
      ),
    ],
  })
}

/**
 * A report that overtakes our record of the ack ends the work: whom it reached is not tried again. Of a push to several
 * devices nobody knows which one it reached, and the others may still be waiting.
 */
async function removeFromQueue(tx: Transaction, bucket: number, changed: readonly FreshReport[]): Promise<void> {
  const overtaken = lastOfEach(changed).filter(({ delivery }) => delivery.state === 'queued')
  if (overtaken.length === 0) return
  const { rows } = await tx.query<{ delivery_id: string; sensitive: boolean }>({
    name: 'notify_end_reported',
    text: `DELETE FROM notify.delivery_queue WHERE bucket = $1 AND ${among('delivery_id', '$2')}
              AND (channel <> 'push' OR json_array_length(message->'targets') = 1)
        RETURNING delivery_id, sensitive`,
    values: [bucket, overtaken.map(({ delivery }) => delivery.id)],
  })
  const sensitive = rows.filter((row) => row.sensitive).map((row) => row.delivery_id)
  if (sensitive.length > 0) await eraseSensitive(tx, bucket, sensitive)
}

/** Letters that were original up too early: whom they reached after all must not get them again by a replay. */
async function removeDeadLetters(tx: Transaction, bucket: number, found: ReadonlySet<string>): Promise<void> {
  if (found.size === 0) return
  const letters = [...found]
  await tx.query({
    name: 'notify_remove_dead_letters',
    text: `DELETE FROM notify.dead_letter WHERE bucket = $1 AND ${among('id', '$2')}`,
    values: [bucket, letters],
  })
  await eraseSensitive(tx, bucket, letters)
}

/** What is sent to an address that bounced or complained is left out from now on, as far as the report says. */
function suppressionsOf({ report, delivery, channel }: FreshReport) {
  const { suppressing, reason: detail } = report
  if (delivery.address === null || channel === 'in-app' || !suppressing) return []
  const about = { userId: delivery.user_id, channel, address: delivery.address, scope: all }
  return [{ ...about, ...(detail === undefined ? {} : { detail }), ...suppressing }]
}

async function stream(tx: Transaction, bucket: number, changed: readonly FreshReport[]): Promise<void> {
  if (changed.length === 0) return
  const events = await eventsOf(tx, bucket, changed)
  const changes = changed.map(({ report, delivery, channel, state = delivery.state }) => {
    const event = events.get(notificationIdOf(delivery.id))
    const about = { deliveryId: delivery.id, userId: delivery.user_id, channel, ...(event ? { event } : {}) }
    return { ...about, state, at: report.at }
  })
  for (const query of writeChanges({ count: 1, bucket }, changes)) await tx.query(query)
}

/** The event types of the notifications that the reports are about, but of those that were purged. */
async function eventsOf(
  tx: Transaction,
  bucket: number,
  changed: readonly FreshReport[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await tx.query<{ id: string; event: string }>({
    name: 'notify_events_of_reports',
    text: `SELECT id, event FROM notify.notification WHERE bucket = $1 AND ${among('id', '$2')}`,
    values: [bucket, [...new Set(changed.map(({ delivery }) => notificationIdOf(delivery.id)))]],
  })
  return new Map(rows.map(({ id, event }) => [id, event]))
}
