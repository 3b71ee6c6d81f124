import type { Channel } from '../model/channel.ts'
import type { BreakerRules, CountedCalls } from '../model/delivery/breaker.ts'
import type { DeliveryReport } from '../model/delivery/delivery-state.ts'
import type { QuietHours } from '../model/delivery/quiet-hours.ts'
import type { Suppressing, Suppression, SuppressionReason } from '../model/delivery/suppression.ts'
import type { Message, Target } from '../model/notification/notification.ts'
import type { TimelineEntryType } from '../model/notification/timeline.ts'

/** A delivery that is leased to a worker. */
export interface ClaimedDelivery {
  readonly bucket: number
  readonly deliveryId: string
  readonly userId: string
  readonly channel: Channel
  readonly event: string
  readonly critical: boolean
  /** Counts claims; a record made under an older one is refused. */
  readonly attempt: number
  /** Failed tries so far; a rate-limited one is none. */
  readonly failures: number
  /** Claims that ended with their worker's death. */
  readonly crashes: number
  readonly sensitive: boolean
  readonly message: Message
  /** From when on it is not sent any more, Unix milliseconds. */
  readonly expiresAt?: number
  /** The user's quiet hours and zone as they stood when it was claimed; those of critical ones are not looked up. */
  readonly quietHours?: QuietHours & { readonly zone?: string }
  /** What the user is not sent on the channel, as it stood when it was claimed: later than when it was planned. */
  readonly suppressions: readonly Suppression[]
  /**
   * Of a push, the tokens of the user's living devices as they stood when it was claimed. Left out where it was not
   * claimed but handed over as it was admitted: its targets are those devices.
   */
  readonly tokens?: readonly string[]
}

/** What is left of a message after a try: the targets that have not taken it, and whether any has. */
interface Left {
  readonly targets: readonly Target[]
  readonly partlyAccepted: boolean
  /** Undefined once an attempt counted. */
  readonly waitsSince?: number | undefined
  readonly postponements?: number
  readonly failedProviders?: readonly string[]
  /** Until when providers asked not to be called with it. */
  readonly providerPauses?: Readonly<Record<string, number>>
  /** Which providers may have taken it, by target id. */
  readonly unresolved?: Readonly<Record<string, string>>
}

/** What one try came to. All of it is refused when the delivery has been claimed again meanwhile. */
export interface AttemptRecord {
  readonly claimed: ClaimedDelivery
  readonly at: number
  /** Set when at least one target took it. With `inInbox` the message is put into the user's inbox. */
  readonly acknowledged?: { readonly provider: string; readonly providerMessageId?: string; readonly inInbox?: true }
  readonly next:
    | { readonly kind: 'done' }
    | {
        readonly kind: 'again'
        readonly dueAt: number
        readonly failures: number
        /** Of its claims, where this one was none that tells anything; else 0. */
        readonly crashes?: number
        readonly left: Left
      }
    /** It is too old to be sent. */
    | { readonly kind: 'expired' }
    | {
        readonly kind: 'dead'
        readonly cause: string
        readonly detail: string
        readonly fallback: boolean
        /** What a replay must keep of the last attempt; without it, what the delivery remembered before. */
        readonly left?: Pick<Left, 'providerPauses' | 'unresolved'>
      }
  /** What the timeline tells of it. */
  readonly what: TimelineEntryType
  readonly detail: Readonly<Record<string, unknown>>
  /** Set when the provider says that it is the address that is at fault. */
  readonly suppressed?: Suppressing & { readonly address: string; readonly detail: string }
  readonly deadTokens: readonly DeadToken[]
}

/** A device that a provider says is no longer registered. */
export interface DeadToken {
  readonly token: string
  readonly provider: string
  readonly at: number
  readonly reason: string
}

/** A call that may be carried out without its answer being recorded. */
export interface MarkedCall {
  readonly claimed: ClaimKey
  /** The target's id. */
  readonly target: string
  readonly provider: string
}

/** Which deliveries are claimed. */
export interface ClaimRequest {
  readonly buckets: readonly number[]
  readonly channel: Channel
  readonly limit: number
  readonly leaseMs: number
  /** What is due by this time, Unix milliseconds. */
  readonly now: number
}

/** What was claimed. */
export interface ClaimResult {
  readonly deliveries: readonly ClaimedDelivery[]
  /**
   * Of each bucket when its next delivery is due that nobody holds, Unix milliseconds: not after the time of the claim where
   * more may be due than was claimed. Buckets where none waits are left out; the end of others' leases is not in it.
   */
  readonly nextDueAt: ReadonlyMap<number, number>
  /** The buckets that could not be read, and why; the others were. */
  readonly failed: BucketErrors
}

/** The buckets whose part of the work failed, and why. An engine that keeps buckets on several nodes has some. */
export type BucketErrors = ReadonlyMap<number, unknown>

/** Claimed deliveries that are still their claimer's. */
export interface CurrentClaims {
  readonly ids: ReadonlySet<string>
  /** Of pushes that were looked up, by id, the tokens of the living devices that their users have by now. */
  readonly tokens?: ReadonlyMap<string, readonly string[]>
  /** The buckets of which nothing is known: of their deliveries none is among the ids. */
  readonly failed: BucketErrors
}

/** What became of records. */
export interface RecordResult {
  /** How many came too late, and were left out. */
  readonly late: number
  /** The provider of each device that was living until now. */
  readonly deadDevices: readonly string[]
  /** The buckets of which nothing was recorded. */
  readonly failed: BucketErrors
}

/** What names a claim of a delivery. */
export type ClaimKey = Pick<ClaimedDelivery, 'bucket' | 'deliveryId' | 'attempt'>

/** Deliveries on their way, of any buckets. */
export interface Deliveries {
  /**
   * Up to `limit` due deliveries of a channel, leased to the caller: those of each priority as often as its weight says
   * where there are more, fair between event types and between buckets; in the answer what is critical comes first.
   */
  claim(request: ClaimRequest): Promise<ClaimResult>
  /** Stores what became of claimed deliveries. */
  record(records: readonly AttemptRecord[]): Promise<RecordResult>
  /**
   * Gives claimed deliveries back untried, due no sooner than `dueAt` (Unix milliseconds) or than they were. No failure is
   * counted and no timeline tells of it. `waitsSince` is kept of those that do not wait for a provider already. Answers
   * the buckets of which nothing was released.
   */
  release(claimed: readonly ClaimedDelivery[], dueAt: number, waitsSince?: number): Promise<BucketErrors>
  /** Those that are still their claimer's: neither erased, nor ended by a report, nor claimed again; and their tokens. */
  findStillClaimed(claimed: readonly ClaimKey[]): Promise<CurrentClaims>
  /**
   * Remembers of claimed deliveries which provider is about to be called for a target, so that no other one is called
   * should this process die before it knows the answer. Answers those that are still their claimer's, and are marked.
   */
  markCalled(calls: readonly MarkedCall[]): Promise<CurrentClaims>
  /**
   * Applies later reports, in the order given; each event id counts once. Answers for each. `onFresh` is called for those
   * that were not there before, once they are committed.
   */
  report(
    reports: readonly ProviderReport[],
    now: number,
    onFresh?: (report: FreshReport) => void,
  ): Promise<readonly ReportOutcome[]>
}

/** What a provider tells about a delivery after its ack. */
export interface ProviderReport {
  readonly provider: string
  /** The provider's id of this very report. */
  readonly eventId: string
  readonly deliveryId: string
  readonly report: DeliveryReport
  readonly at: number
  readonly reason?: string
  /** The error code of the provider. */
  readonly code?: string
  /** A bounce after which the address is still good. */
  readonly soft?: boolean
  /** An open or a click that no person made: it is kept and changes no state. */
  readonly machine?: boolean
  /** The link or action that was followed. */
  readonly link?: string
  /** Reported by whoever received the message: it counts once for each delivery, report and link, in place of its event id. */
  readonly byRecipient?: boolean
  /** What it makes of the address. */
  readonly suppressing?: Suppressing
}

/** What is counted of a report that was not there before. */
export interface FreshReport {
  readonly channel: Channel
  /** Who sent the message; where that is not known, who reported. */
  readonly provider: string
  readonly report: DeliveryReport
  readonly machine: boolean
  readonly code?: string
  readonly address?: string
  /** Why its address is suppressed from now on. */
  readonly suppresses?: SuppressionReason
}

/** What became of a report. `unchanged`: it was kept, and the state is what it was. */
export type ReportOutcome = 'changed' | 'unchanged' | 'duplicate' | 'unknown'

/** Calls of a provider, and why one of them rejected our credentials or account. */
export interface ReportedCalls extends CountedCalls {
  readonly misconfigured?: string
}

/** The circuit breakers of providers, and their order, shared by all processes. */
export interface ProviderHealth {
  /**
   * For each provider that is open or paused, until when it is left alone: its time, or that of a probe under way (Unix
   * milliseconds). Of a pause no more than the next minute, since the management may end it: what waits for a time that is
   * too far off would be given up at once. Neither an opening nor a probe lasts beyond `maxWaitMs` from now: a clock that
   * was ahead put it off, and it is over.
   */
  open(now: number, maxWaitMs: number): Promise<ReadonlyMap<string, number>>
  /** The order that the management chose for the providers of a channel; empty for that of the configuration. */
  order(channel: Channel): Promise<readonly string[]>
  /** Adds calls that were counted. True when they opened the breaker. */
  report(provider: string, counted: ReportedCalls, rules: BreakerRules, now: number): Promise<boolean>
  /** True for exactly one caller once an open breaker's time is over, as {@link open} has it: its call is the probe. */
  probe(provider: string, now: number, untilMs: number, maxWaitMs: number): Promise<boolean>
}

/** What is stored of a provider. */
export interface StoredHealth {
  readonly provider: string
  /** Since when its calls are counted, Unix milliseconds; how many there were, and how many of them failed. */
  readonly since: number
  readonly calls: number
  readonly failures: number
  /** Until when its breaker is open; past where it waits for a probe. */
  readonly openUntil?: number
  readonly pausedUntil?: number
  /** Why it rejected our credentials or account, until a call succeeds. */
  readonly misconfigured?: string
}

/** Pauses of providers by the management, for all processes. */
export interface ProviderPauses {
  list(): Promise<readonly StoredHealth[]>
  /**
   * Leaves a provider alone until then (Unix milliseconds), or no longer. With `expected` only where that is stored, null
   * for no pause: of two who saw the same, one gets true.
   */
  set(provider: string, until: number | undefined, now: number, expected?: number | null): Promise<boolean>
}
