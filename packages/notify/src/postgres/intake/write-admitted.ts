import type { AdmissionDecision, DeliveryDecision } from '../../admission/admission.ts'
import type { PlannedNotification } from '../../admission/planned.ts'
import { newIdBeside } from '../../model/id.ts'
import { writeShortLinks } from '../catalog/short-links.ts'
import { erasedWhenSpent } from '../retention/erase-sensitive.ts'
import type { Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, textFor } from '../sql/buckets.ts'
import { columns, documents, optionalTimestamp, timestamp } from '../sql/columns.ts'
import { storedDecisions } from '../timeline/decisions.ts'
import { appendDuplicates } from '../timeline/duplicates.ts'
import type { StreamOptions } from '../timeline/outbox.ts'
import { joinWindows } from '../waiting/join-windows.ts'
import { dedupHash } from './dedup-hash.ts'
import { addressOf, writeResumed } from './write-resumed.ts'

/** One channel of an admitted notification, beside the notification. */
interface AdmittedDelivery extends DeliveryDecision {
  readonly of: PlannedNotification
}

/** What the admitted are written with. */
export interface WriteOptions extends StreamOptions {
  /** The deliveries that this process holds from the start, and for how long, in milliseconds. */
  readonly leased?: ReadonlySet<string> | undefined
  readonly leaseMs?: number | undefined
}

const notificationOf = ({ of }: AdmittedDelivery) => of.id

const priorityNumbers = { critical: 0, normal: 1, low: 2 } as const

/** What was decided, as the statements that write it: one a table, each left out when it has nothing to write. */
export function writeAdmitted(
  scope: BucketScope,
  decided: readonly AdmissionDecision[],
  now: number,
  options: WriteOptions,
): Statement[] {
  const deliveries = decided.flatMap(({ notification, deliveries: own }) =>
    own.map((delivery): AdmittedDelivery => ({ ...delivery, of: notification })),
  )
  const spent = decided
    .flatMap((each) => (each.notification.stored !== 'no' && isSpent(each) ? [each.notification.id] : []))
    .sort()
  return [
    ...writeNotifications(scope, decided),
    ...writeLog(scope, deliveries, now),
    ...writeDeliveries(scope, deliveries),
    ...writeWork(scope, deliveries, now, options),
    ...writeShortLinks(scope, decided),
    ...writeDeferred(scope, decided),
    ...joinWindows(scope, decided, now),
    ...writeDeadLetters(scope, deliveries, now),
    ...writeResumed(scope, decided, now, options),
    ...appendDuplicates(scope, decided, now),
    ...erasedWhenSpent(scope, spent),
  ]
}

function writeNotifications(scope: BucketScope, decided: readonly AdmissionDecision[]): Statement[] {
  const fresh = decided.filter(
    ({ notification, answerId }) => notification.stored === 'no' && answerId === notification.id,
  )
  if (fresh.length === 0) return []
  const of = (pick: (notification: PlannedNotification) => string | boolean | null) =>
    fresh.map((each) => pick(each.notification))
  return [
    {
      text: textFor(
        scope,
        `INSERT INTO notify.notification (bucket, id, user_id, event, priority, dedup_key, requested, sensitive, data, decisions, accepted_at, expires_at)
         SELECT n.bucket, n.id, n.user_id, n.event, n.priority, n.dedup_key, string_to_array(n.requested, ','), n.sensitive,
                CASE WHEN json_typeof(n.data) = 'object' THEN n.data END, n.decisions, n.accepted_at, n.expires_at
           FROM ROWS FROM (
                  unnest($1::smallint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[],
                         $11::timestamptz[], $12::timestamptz[]),
                  json_array_elements($9::json), json_array_elements($10::json))
                AS n (bucket, id, user_id, event, priority, dedup_key, requested, sensitive, accepted_at, expires_at, data, decisions)`,
      ),
      values: [
        bucketsOfIds(scope, fresh, ({ notification }) => notification.id),
        of(({ id }) => id),
        of(({ userId }) => userId),
        of(({ event }) => event),
        of(({ priority }) => priority),
        of(({ dedupKey }) => dedupKey ?? null),
        of(({ requested }) => requested?.join(',') ?? null),
        of(({ sensitive }) => sensitive),
        documents(fresh, (each) => (isSpent(each) ? null : each.notification.data)),
        documents(fresh, storedDecisions),
        of(({ acceptedAt }) => timestamp(acceptedAt)),
        of(({ expiresAt }) => optionalTimestamp(expiresAt)),
      ],
    },
  ]
}

const waiting: ReadonlySet<string> = new Set(['queued', 'deferred', 'aggregated', 'failed'])

/** Whether it is sensitive and nothing of it will be sent, nor may be replayed: its data is then not kept at all. */
function isSpent({ notification, deliveries }: AdmissionDecision): boolean {
  return notification.sensitive && !deliveries.some(({ outcome }) => waiting.has(outcome))
}

function writeLog(scope: BucketScope, deliveries: readonly AdmittedDelivery[], now: number): Statement[] {
  const recorded = deliveries.filter(({ logKey, outcome }) => logKey !== undefined && waiting.has(outcome))
  if (recorded.length === 0) return []
  return [
    {
      text: textFor(
        scope,
        `INSERT INTO notify.dedup_log (bucket, user_id, key_hash, notification_id, has_delivery, recorded_at)
         SELECT l.bucket, l.user_id, l.key_hash, l.notification_id, l.has_delivery, $6::timestamptz
           FROM unnest($1::smallint[], $2::text[], $3::uuid[], $4::uuid[], $5::boolean[])
                AS l (bucket, user_id, key_hash, notification_id, has_delivery)`,
      ),
      values: [
        bucketsOfIds(scope, recorded, notificationOf),
        ...columns(
          recorded,
          (d) => d.of.userId,
          (d) => (d.logKey === undefined ? null : dedupHash(d.channel, d.logKey)),
          (d) => d.of.id,
          (d) => d.outcome !== 'aggregated',
        ),
        timestamp(now),
      ],
    },
  ]
}

const withDelivery: ReadonlySet<string> = new Set(['queued', 'deferred', 'failed'])

function writeDeliveries(scope: BucketScope, deliveries: readonly AdmittedDelivery[]): Statement[] {
  const fresh = deliveries.filter(({ of, outcome }) => of.stored !== 'deliveries' && withDelivery.has(outcome))
  if (fresh.length === 0) return []
  return [
    {
      text: textFor(
        scope,
        `INSERT INTO notify.delivery (bucket, id, user_id, channel, state, address, ended)
         SELECT d.bucket, d.id, d.user_id, d.channel, 'queued', d.address, d.ended
           FROM unnest($1::smallint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[])
                AS d (bucket, id, user_id, channel, address, ended)`,
      ),
      values: [
        bucketsOfIds(scope, fresh, notificationOf),
        ...columns(
          fresh,
          (d) => d.id,
          (d) => d.of.userId,
          (d) => d.channel,
          addressOf,
          (d) => (d.outcome === 'failed' ? 'dead_letter' : null),
        ),
      ],
    },
  ]
}

function writeWork(
  scope: BucketScope,
  deliveries: readonly AdmittedDelivery[],
  now: number,
  { leased, leaseMs = 0 }: WriteOptions,
): Statement[] {
  const queued = deliveries.filter(({ outcome }) => outcome === 'queued')
  if (queued.length === 0) return []
  return [
    {
      text: textFor(
        scope,
        `INSERT INTO notify.delivery_queue (bucket, delivery_id, user_id, channel, event, priority, due_at, sensitive, expires_at,
                                       attempt, lease_until, message, letter)
         SELECT w.bucket, w.delivery_id, w.user_id, w.channel, w.event, w.priority, $8::timestamptz, w.sensitive, w.expires_at,
                w.leased::integer, CASE WHEN w.leased THEN now() + $12::integer * interval '1 millisecond' END, w.message, w.letter::json
           FROM ROWS FROM (
                  unnest($1::smallint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::smallint[], $7::boolean[],
                         $10::timestamptz[], $11::boolean[], $13::text[]),
                  json_array_elements($9::json))
                AS w (bucket, delivery_id, user_id, channel, event, priority, sensitive, expires_at, leased, letter, message)`,
      ),
      values: [
        bucketsOfIds(scope, queued, notificationOf),
        ...columns(
          queued,
          (d) => d.id,
          (d) => d.of.userId,
          (d) => d.channel,
          (d) => d.of.event,
          (d) => priorityNumbers[d.of.priority],
          (d) => d.of.sensitive,
        ),
        timestamp(now),
        documents(queued, ({ plan }) => (plan.kind === 'send' ? plan.message : {})),
        ...columns(
          queued,
          (d) => optionalTimestamp(d.of.expiresAt),
          (d) => d.id !== undefined && leased?.has(d.id) === true,
        ),
        leaseMs,
        ...columns(queued, (d) => letterOf(d.of)),
      ],
    },
  ]
}

/** The dead letter that it was, as it is stored with what a stopped replay takes back. */
function letterOf({ letter }: PlannedNotification): string | null {
  return letter === undefined ? null : JSON.stringify(letter)
}

function writeDeferred(scope: BucketScope, decided: readonly AdmissionDecision[]): Statement[] {
  const deferred = decided.flatMap(({ notification, deliveries }) => {
    const waiting = deliveries.filter(({ outcome }) => outcome === 'deferred')
    const [first] = waiting
    if (first?.plan.kind !== 'defer') return []
    const channels = waiting.map(({ channel }) => channel).join(',')
    return [{ notification, channels, resumeAt: timestamp(first.plan.resumeAt) }]
  })
  if (deferred.length === 0) return []
  return [
    {
      text: textFor(
        scope,
        `INSERT INTO notify.deferred (bucket, id, notification_id, user_id, channels, reason, resume_at, letter)
         SELECT d.bucket, d.id, d.notification_id, d.user_id, string_to_array(d.channels, ','), d.reason, d.resume_at, d.letter::json
           FROM unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::text[])
                AS d (bucket, id, notification_id, user_id, channels, reason, resume_at, letter)`,
      ),
      values: [
        bucketsOfIds(scope, deferred, ({ notification }) => notification.id),
        ...columns(
          deferred,
          (d) => newIdBeside(d.notification.id),
          (d) => d.notification.id,
          (d) => d.notification.userId,
          (d) => d.channels,
          (d) => d.notification.free ?? 'quiet_hours',
          (d) => d.resumeAt,
          (d) => letterOf(d.notification),
        ),
      ],
    },
  ]
}

function writeDeadLetters(scope: BucketScope, deliveries: readonly AdmittedDelivery[], now: number): Statement[] {
  const failed = deliveries.flatMap((d) =>
    d.plan.kind === 'fail' && d.outcome === 'failed' ? [{ ...d, why: d.plan }] : [],
  )
  if (failed.length === 0) return []
  return [
    {
      text: textFor(
        scope,
        `INSERT INTO notify.dead_letter (bucket, id, notification_id, user_id, channel, event, cause, detail, died_at, expires_at)
         SELECT d.bucket, d.id, d.notification_id, d.user_id, d.channel, d.event, d.cause, d.detail, $9::timestamptz, d.expires_at
           FROM unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                       $10::timestamptz[])
                AS d (bucket, id, notification_id, user_id, channel, event, cause, detail, expires_at)
         ON CONFLICT (bucket, id) DO NOTHING`,
      ),
      values: [
        bucketsOfIds(scope, failed, notificationOf),
        ...columns(
          failed,
          (d) => d.id,
          (d) => d.of.id,
          (d) => d.of.userId,
          (d) => d.channel,
          (d) => d.of.event,
          (d) => d.why.cause,
          (d) => d.why.reason.reason,
        ),
        timestamp(now),
        ...columns(failed, (d) => optionalTimestamp(d.of.expiresAt)),
      ],
    },
  ]
}
