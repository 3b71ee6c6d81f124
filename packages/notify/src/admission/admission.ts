import type { Channel } from '../model/channel.ts'
import type { Outcome } from '../model/delivery/outcome.ts'
import { deliveryIdOf } from '../model/id.ts'
import type { DeliveryOutcome } from '../model/notification/notification.ts'
import { createReason } from '../model/notification/reason.ts'
import { type CapReached, type CapRules, type Counters, countAgainstCaps, type Limits } from './caps.ts'
import type { DeliveryPlan, PlannedDelivery, PlannedNotification } from './planned.ts'

/** The dedup log's entry for a key: the notification that used it. */
export interface DedupEntry {
  readonly notificationId: string
  /** False while it is aggregated. */
  readonly hasDelivery: boolean
}

/** One channel of a notification, with what was decided of it. */
export interface DeliveryDecision {
  readonly channel: Channel
  readonly outcome: Outcome | 'excluded'
  readonly plan: DeliveryPlan
  /** Left out for the duplicate of one that is aggregated: it has no delivery yet. */
  readonly id?: string
  readonly logKey?: string
  /** Why it is capped. */
  readonly capped?: CapReached
}

/** A notification with the outcome of each of its channels. */
export interface AdmissionDecision {
  readonly notification: PlannedNotification
  readonly deliveries: readonly DeliveryDecision[]
  /** The id to answer with: the original's when every channel is a duplicate of one. */
  readonly answerId: string
}

/** What admission decides on: the cap counters and the used dedup keys of the users of a batch. */
export interface AdmissionState {
  readonly counters: Map<string, Counters>
  readonly logged: Map<string, DedupEntry>
}

/** A user was erased after something was planned for them: it must be planned again, on their profile of now. */
export class UserErased extends Error {
  constructor() {
    super('a user was erased while something was planned for them')
  }
}

/** Which deliveries an admission writes already leased to this process, so that no claim has to find them. */
export interface Leases {
  readonly leaseMs: number
  /** Chooses among what is about to be written: the ids of the deliveries that are leased. */
  reserve(decided: readonly AdmissionDecision[]): ReadonlySet<string>
  /** They were not written. */
  cancel(deliveryIds: ReadonlySet<string>): void
}

/** How a batch is admitted: the store is given the rule, and the profiles that the batch was planned on. */
export interface Admission<Profiles = unknown> {
  /**
   * Decides a batch on the state that was read. It is called again, on the state of then, when that has changed before the
   * decision was written.
   */
  readonly decide: (notifications: readonly PlannedNotification[], state: AdmissionState) => AdmissionDecision[]
  readonly profiles?: Profiles
  /** Chooses what is written already leased to this process; without it nothing is. */
  readonly leases?: Leases
  /** Unix milliseconds. */
  readonly now: number
}

/** Admission by deduplication and caps, at a time (Unix milliseconds). */
export function createAdmission<Profiles>(
  { profiles, leases, ...rules }: CapRules & Pick<Admission<Profiles>, 'profiles' | 'leases'>,
  now: number,
): Admission<Profiles> {
  return {
    decide: (notifications, state) => decide(notifications, state, rules, now),
    ...(profiles ? { profiles } : {}),
    ...(leases ? { leases } : {}),
    now,
  }
}

/**
 * Decides a batch, in order, against the dedup log and the cap counters of its users: duplicates first, so that they
 * never use up the cap; then the cap, so that a capped message uses no key. Updates `state` as it goes, so that several
 * events for one user and one key in a batch see each other. The decisions are valid only while the state they were
 * made on is.
 */
export function decide(
  notifications: readonly PlannedNotification[],
  state: AdmissionState,
  rules: CapRules,
  now: number,
): AdmissionDecision[] {
  const limits = { ...rules, now }
  return notifications.map((notification) => decideOne(notification, state, limits))
}

function decideOne(planned: PlannedNotification, state: AdmissionState, limits: Limits): AdmissionDecision {
  const notification = withoutOwnKeys(planned, state.logged)
  const originals = notification.deliveries.map((delivery) => originalOf(notification, delivery, state.logged))
  const fresh = notification.deliveries.filter((_, index) => originals[index] === undefined)
  const reached = countAgainstCaps(notification, fresh, state.counters, limits)
  const deliveries = notification.deliveries.map((delivery, index): DeliveryDecision => {
    const original = originals[index]
    if (original) return { ...delivery, outcome: 'duplicate', ...originalDelivery(original, delivery.channel) }
    const capped = reached.get(delivery.channel)
    const id = deliveryIdOf(notification.id, delivery.channel)
    return capped ? { ...delivery, outcome: 'capped', capped, id } : { ...delivery, outcome: outcomeOf(delivery), id }
  })
  for (const delivery of deliveries) recordKey(notification, delivery, state.logged)
  const first = originals[0]
  const repeated =
    first !== undefined && originals.every((original) => original?.notificationId === first.notificationId)
  return { notification, deliveries, answerId: repeated ? first.notificationId : notification.id }
}

/**
 * What was stored before may have used a key already, as it was deferred or aggregated: it is no duplicate of itself, and
 * uses the key no second time.
 */
function withoutOwnKeys(
  notification: PlannedNotification,
  logged: ReadonlyMap<string, DedupEntry>,
): PlannedNotification {
  if (notification.stored === 'no') return notification
  const deliveries = notification.deliveries.map((delivery) => {
    const { logKey, ...rest } = delivery
    return originalOf(notification, delivery, logged)?.notificationId === notification.id ? rest : delivery
  })
  return { ...notification, deliveries }
}

function originalOf(
  { userId }: PlannedNotification,
  delivery: PlannedDelivery,
  logged: ReadonlyMap<string, DedupEntry>,
): DedupEntry | undefined {
  return delivery.logKey === undefined ? undefined : logged.get(logId(userId, delivery))
}

function originalDelivery({ notificationId, hasDelivery }: DedupEntry, channel: Channel): { readonly id?: string } {
  return hasDelivery ? { id: deliveryIdOf(notificationId, channel) } : {}
}

/** The name of a key in {@link AdmissionState.logged}: keys are unique per user and channel. */
export function logId(userId: string, delivery: { readonly channel: Channel; readonly logKey?: string }): string {
  return `${delivery.channel} ${userId.length} ${userId} ${delivery.logKey}`
}

function outcomeOf({ plan }: PlannedDelivery): DeliveryDecision['outcome'] {
  if (plan.kind === 'drop') return plan.outcome
  return outcomesOfPlans[plan.kind]
}

const outcomesOfPlans = {
  send: 'queued',
  defer: 'deferred',
  aggregate: 'aggregated',
  fail: 'failed',
  exclude: 'excluded',
  expire: 'expired',
} as const

const keptOutcomes: ReadonlySet<string> = new Set(['queued', 'deferred', 'aggregated', 'failed'])

function recordKey(
  notification: PlannedNotification,
  delivery: DeliveryDecision,
  logged: Map<string, DedupEntry>,
): void {
  if (delivery.logKey === undefined || !keptOutcomes.has(delivery.outcome)) return
  const entry = { notificationId: notification.id, hasDelivery: delivery.outcome !== 'aggregated' }
  logged.set(logId(notification.userId, delivery), entry)
}

/** What the timeline tells of a channel beside its outcome: of what, or why; of a sensitive one nothing of its text. */
export function detailOf({ plan, capped }: DeliveryDecision, sensitive: boolean): Readonly<Record<string, unknown>> {
  if (capped) {
    const { until, cap, limit } = capped
    const reason = createReason('cap_reached', { cap, limit })
    return { ...reason, ...(until === undefined ? {} : { until: new Date(until).toISOString() }) }
  }
  if (plan.kind === 'send') return plan.template ? { template: plan.template } : {}
  if (plan.kind === 'exclude' || plan.kind === 'drop') return { ...plan.reason }
  if (plan.kind === 'expire') return { expires_at: new Date(plan.expiresAt).toISOString() }
  if (plan.kind !== 'fail') return {}
  const { reason, ...code } = plan.reason
  return sensitive ? code : { ...code, reason }
}

/** The deliveries as a producer gets them: channels that a preference excludes are not listed. */
export function answerOf({ deliveries }: AdmissionDecision): DeliveryOutcome[] {
  return deliveries.flatMap(({ id, channel, outcome }) => {
    if (outcome === 'excluded') return []
    return [outcome === 'aggregated' || id === undefined ? { channel, outcome } : { id, channel, outcome }]
  })
}
