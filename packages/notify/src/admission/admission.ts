import type { Caps } from '../config/options.ts'
import type { Channel } from '../model/channel.ts'
import { deliveryIdOf } from '../model/id.ts'
import type { Data, DeliveryOutcome, Message, Outcome, TimelineEntry } from '../model/notification.ts'
import type { Priority } from '../model/priority.ts'
import type { ShortLink } from '../model/short-link.ts'

/** What planning made of one channel of a notification. */
export type DeliveryPlan =
  | { readonly kind: 'send'; readonly message: Message; readonly links?: readonly ShortLink[] }
  | { readonly kind: 'defer'; readonly resumeAt: number }
  | { readonly kind: 'aggregate' }
  | { readonly kind: 'drop'; readonly outcome: 'no_recipient' | 'undeliverable'; readonly reason: string }
  | { readonly kind: 'exclude'; readonly reason: string }
  | { readonly kind: 'fail'; readonly cause: string; readonly detail: string }
  /** It came, woke or was flushed too late; `expiresAt` in Unix milliseconds. */
  | { readonly kind: 'expire'; readonly expiresAt: number }

/** One channel of a planned notification. */
export interface PlannedDelivery {
  readonly channel: Channel
  /** Its composed dedup key, where there is one to look up and to burn. */
  readonly logKey?: string
  readonly plan: DeliveryPlan
}

/** A notification before its admission. */
export interface PlannedNotification {
  readonly id: string
  readonly userId: string
  readonly event: string
  readonly data: Data
  readonly priority: Priority
  readonly acceptedAt: number
  /** From when on nothing of it is sent any more, Unix milliseconds. */
  readonly expiresAt?: number
  readonly sensitive: boolean
  readonly dedupKey?: string
  readonly requested?: readonly Channel[]
  readonly decisions: readonly TimelineEntry[]
  readonly deliveries: readonly PlannedDelivery[]
  /** The pending item it becomes when it is aggregated. */
  readonly item?: { readonly actor: string; readonly flushAt: number }
  /** Its row (and those of its deliveries) exist already: it woke, or its window closed. */
  readonly stored: 'no' | 'notification' | 'deliveries'
  /** Set when no cap counts it, and why. */
  readonly free?: 'fallback' | 'replay'
}

/** A stored thing that an admission takes away in its own transaction, so that it happens once. */
export type Settled = { readonly kind: 'scheduled' | 'deferred'; readonly id: string } | SettledWindow

/** A closed window, or some of its items. */
export interface SettledWindow {
  readonly kind: 'window'
  readonly id: string
  /** Only these of its items; all of them where it is left out. */
  readonly items?: readonly string[]
  /** Whether the items that are left may still be combined; without it they are told one by one. */
  readonly keepsTogether?: boolean
  /** Told in the timeline of each of its items: into which notification they were combined. */
  readonly timelineEntry?: { readonly what: string; readonly detail: Readonly<Record<string, unknown>> }
  /** Its items are sensitive, and have nothing to be sent themselves: their data goes. */
  readonly erases?: boolean
}

/** What is admitted or left together. */
export interface AdmissionUnit {
  readonly settles?: Settled
  readonly notifications: readonly PlannedNotification[]
}

/** A counter and the time of its first counted notification. */
interface Counter {
  readonly since: number
  readonly used: number
}

/** The counters of one user, by what they count: `total`, `channel:<channel>`, `priority:<priority>`. */
export type Counters = Readonly<Record<string, Counter>>

/** What the log knows of a key: the notification that burnt it. */
export interface DedupEntry {
  readonly notificationId: string
  /** False while it is aggregated. */
  readonly hasDelivery: boolean
}

/** The cap that a message met. */
export interface CapReached {
  /** `total`, `channel:<channel>` or `priority:<priority>`. */
  readonly cap: string
  readonly limit: number
  /** When its window ends, Unix milliseconds; left out where the cap lets nothing through at all. */
  readonly until?: number
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

/** The caps of a user, and the length of their window. */
export interface CapRules {
  readonly caps: Caps
  readonly windowMs: number
}

/** A user was erased after something was planned for them: it must be planned again, on what is known of them now. */
export class UserErased extends Error {
  constructor() {
    super('a user was erased while something was planned for them')
  }
}

/** How a batch is admitted: the store is given the rule, and the profiles that the batch was planned on. */
export interface Admission<Profiles = unknown> {
  /**
   * Decides a batch on the state that was read. It is called again, on the state of then, when that has changed before the
   * decision was written.
   */
  readonly decide: (notifications: readonly PlannedNotification[], state: AdmissionState) => AdmissionDecision[]
  readonly profiles?: Profiles
  /** Unix milliseconds. */
  readonly now: number
}

/** Admission by deduplication and caps, at a time (Unix milliseconds). */
export function createAdmission<Profiles>(
  { profiles, ...rules }: CapRules & { readonly profiles?: Profiles },
  now: number,
): Admission<Profiles> {
  return {
    decide: (notifications, state) => decide(notifications, state, rules, now),
    ...(profiles ? { profiles } : {}),
    now,
  }
}

/**
 * Decides a batch, in order, against the log and the cap counters of its users: duplicates first, so that they never
 * use up the cap; then the cap, so that what it drops burns no key. Brings `state` up to date as it goes, so that several
 * events for one user and one key in a batch see each other. What it comes to holds only as long as what it was decided
 * on does.
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

interface Limits extends CapRules {
  readonly now: number
}

function decideOne(notification: PlannedNotification, state: AdmissionState, limits: Limits): AdmissionDecision {
  const originals = notification.deliveries.map((delivery) =>
    delivery.logKey === undefined ? undefined : state.logged.get(logId(notification.userId, delivery)),
  )
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

const uncapped: ReadonlyMap<Channel, CapReached> = new Map()

/** Counts what would be sent and says on which channels it may not be, for which cap. */
function countAgainstCaps(
  notification: PlannedNotification,
  fresh: readonly PlannedDelivery[],
  counters: Map<string, Counters>,
  { caps, windowMs, now }: Limits,
): ReadonlyMap<Channel, CapReached> {
  const sending = fresh.filter(({ plan }) => plan.kind === 'send').map(({ channel }) => channel)
  if (sending.length === 0 || notification.free || notification.priority === 'critical') return uncapped
  const mine = counters.get(notification.userId) ?? {}
  const reached = ([name, max]: readonly [string, number]): CapReached | undefined => {
    const used = usedAt(mine[name], windowMs, now)
    if (used < max) return undefined
    const since = used > 0 ? mine[name]?.since : undefined
    return { cap: name, limit: max, ...(since === undefined ? {} : { until: since + windowMs }) }
  }
  const limits = wholeLimits(notification.priority, caps)
  const whole = limits.map(reached).find((each) => each !== undefined)
  if (whole) return new Map(sending.map((channel) => [channel, whole]))
  const own = sending.flatMap((channel) => channelLimit(channel, caps))
  const full = own.flatMap(({ channel, limit }) => {
    const found = reached(limit)
    return found ? [[channel, found] as const] : []
  })
  const capped = new Map(full)
  if (capped.size === sending.length) return capped
  const counted = own.filter(({ channel }) => !capped.has(channel)).map(({ limit }) => limit)
  const entries = [...limits, ...counted].map(([name]) => [name, oneMore(mine[name], windowMs, now)] as const)
  counters.set(notification.userId, { ...mine, ...Object.fromEntries(entries) })
  return capped
}

function channelLimit(channel: Channel, { channels }: Caps) {
  const max = channels[channel]
  return max === undefined ? [] : [{ channel, limit: [`channel:${channel}`, max] as const }]
}

function wholeLimits(priority: Priority, caps: Caps): Array<readonly [string, number]> {
  const own = priority === 'critical' ? undefined : caps.priorities[priority]
  return [['total', caps.total] as const, ...(own === undefined ? [] : [[`priority:${priority}`, own] as const])]
}

function usedAt(counter: Counter | undefined, windowMs: number, now: number): number {
  return counter && now < counter.since + windowMs ? counter.used : 0
}

function oneMore(counter: Counter | undefined, windowMs: number, now: number): Counter {
  return counter && now < counter.since + windowMs
    ? { since: counter.since, used: counter.used + 1 }
    : { since: now, used: 1 }
}

/** Why a channel came to its outcome, where there is more to say than the outcome; a sensitive one tells nothing of its text. */
export function reasonOf({ plan, capped }: DeliveryDecision, sensitive: boolean): Readonly<Record<string, unknown>> {
  if (capped) {
    const { until, ...reached } = capped
    return { ...reached, ...(until === undefined ? {} : { until: new Date(until).toISOString() }) }
  }
  if (plan.kind === 'exclude' || plan.kind === 'drop') return { reason: plan.reason }
  if (plan.kind === 'expire') return { expires_at: new Date(plan.expiresAt).toISOString() }
  return plan.kind === 'fail' && !sensitive ? { cause: plan.cause, reason: plan.detail } : {}
}

/** What a producer is told: channels that a preference leaves out are not listed. */
export function answerOf({ deliveries }: AdmissionDecision): DeliveryOutcome[] {
  return deliveries.flatMap(({ id, channel, outcome }) => {
    if (outcome === 'excluded') return []
    return [outcome === 'aggregated' || id === undefined ? { channel, outcome } : { id, channel, outcome }]
  })
}
