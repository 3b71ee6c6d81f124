import type { Channel } from '../channel.ts'
import type { DeliveryState } from '../delivery/delivery-state.ts'
import type { Outcome } from '../delivery/outcome.ts'
import type { Priority } from './priority.ts'
import type { TimelineEntry } from './timeline.ts'

/** Variables for a template. */
export type Data = Readonly<Record<string, unknown>>

/** A producer's event, as POST /v1/notify and the topic `notifications` carry it. */
export interface NotifyRequest {
  readonly event: string
  readonly user_id: string
  readonly data: Data
  readonly channels?: readonly Channel[]
  readonly dedup_key?: string
}

/** What became of one channel of an accepted event. */
export interface DeliveryOutcome {
  /** Left out while aggregated: there is no delivery yet. */
  readonly id?: string
  readonly channel: Channel
  readonly outcome: Outcome
}

/** The answer to an accepted event: committed, whatever its outcomes. */
export interface Acceptance {
  readonly id: string
  readonly deliveries: readonly DeliveryOutcome[]
}

/** Where one message goes. A push has one target per device, every other channel one. */
export interface Target {
  /** The device's id, or the channel's name where there is but one address. */
  readonly id: string
  /** The push token, email address, phone number or user id. */
  readonly address: string
  /** For devices: the push service, such as `fcm`, `apns` or `web`. */
  readonly service?: string
}

/** What a template rendered to. */
export interface Content {
  readonly subject?: string
  readonly body: string
  readonly html?: string
  readonly locale: string
}

/** What one channel carries, and to which addresses it still has to go. */
export interface Message extends Content {
  readonly targets: readonly Target[]
  /** Some target took it already; those that are left are tried again. */
  readonly partlyAccepted?: boolean
  /** Since when it waits for its providers, Unix milliseconds: it was not tried, or not for a fault of its own. */
  readonly waitsSince?: number
  /** How often in a row it was postponed: no provider took it, and no attempt was counted. */
  readonly postponements?: number
  /** Providers that failed for it; the next attempt goes to another one while there is a healthy one. */
  readonly failedProviders?: readonly string[]
  /** Until when (Unix milliseconds) providers asked not to be called again with it; no attempt calls one before. */
  readonly providerPauses?: Readonly<Record<string, number>>
  /** Set to false where a call that timed out, and may have been carried out, is repeated at the same provider only. */
  readonly failoverOnTimeout?: false
  /**
   * By target id, with `failoverOnTimeout` false: the provider that may have taken it, since a call was not answered or
   * its answer says nothing. Until that provider says that it did not take it, no other one is called for the target.
   */
  readonly unresolved?: Readonly<Record<string, string>>
  /** How often it was claimed before it became a dead letter that was replayed. */
  readonly earlierClaims?: number
}

/** A notification and what has become of it. */
export interface NotificationRecord {
  readonly id: string
  readonly userId: string
  readonly event: string
  readonly priority: Priority
  readonly acceptedAt: number
  /** From when on nothing of it is sent any more, Unix milliseconds. */
  readonly expiresAt?: number
  readonly dedupKey?: string
  readonly deliveries: readonly DeliveryRecord[]
  readonly timeline: readonly TimelineEntry[]
}

/** A delivery as the API writes it. */
export interface DeliveryRecord {
  readonly id?: string
  readonly channel: Channel
  readonly outcome: Outcome
  /** Where it stands; left out when there was nothing to send. */
  readonly state?: DeliveryState
  readonly provider?: string
  /** Why it ended without being sent, or is a dead letter. */
  readonly ended?: string
}
