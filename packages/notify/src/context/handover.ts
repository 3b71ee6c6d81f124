import type { Channel } from '../model/channel.ts'
import type { ClaimedDelivery } from '../store/store.ts'

/** Deliveries that were admitted already leased to this process, all at once. */
export interface LeasedBatch {
  readonly deliveries: readonly ClaimedDelivery[]
  /** From before they were written; by `performance.now()`. */
  readonly claimedAt: number
  /** By `performance.now()`. */
  readonly leaseEndsAt: number
}

/** Where a channel's worker takes in what is admitted for it at once. */
export interface HandoverTarget {
  /** Reserves room for one delivery; false where it is to be claimed like all others. */
  reserve(): boolean
  /** Gives up what was reserved for so many. */
  cancel(count: number): void
  /** Hands over deliveries for which room was reserved; where the worker takes none any more, it releases them. */
  add(handed: LeasedBatch): void
}

/** The workers of this process that take in what is admitted: none for the channels that other processes send. */
export type HandoverTargets = Map<Channel, HandoverTarget>
