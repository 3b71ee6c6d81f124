import type { Channel } from '../model/channel.ts'
import type { Data } from '../model/notification.ts'

/** Deliveries that wake and are planned again. */
export interface DueDeferred {
  readonly id: string
  readonly reason: 'quiet_hours' | 'fallback' | 'replay'
  readonly channels: readonly Channel[]
  readonly notification: StoredNotification
}

/** A notification as it was accepted, for planning it again. */
export interface StoredNotification {
  readonly id: string
  readonly userId: string
  readonly event: string
  readonly acceptedAt: number
  /** From when on nothing of it is sent any more, Unix milliseconds. */
  readonly expiresAt?: number
  readonly sensitive: boolean
  readonly requested?: readonly Channel[]
  readonly dedupKey?: string
  /** Left out when it was erased. */
  readonly data?: Data
}

/** A pending set that takes no further items: what is in it is to be flushed. Bounded, however much that is. */
export interface ClosedWindow {
  readonly id: string
  readonly userId: string
  readonly event: string
  /** The first of its items, oldest first. */
  readonly items: readonly PendingItem[]
  /** What all of them come to; left out once they are told one by one. */
  readonly summary?: WindowSummary
}

export interface WindowSummary {
  readonly count: number
  /** Distinct actors. */
  readonly actorCount: number
  /** The first of them, in the order they came. */
  readonly actors: readonly string[]
  readonly firstAt: number
  readonly lastAt: number
  /** The data of the last item. */
  readonly lastData: Data
  /** In which ways its items chose their channels, each way once. */
  readonly chosen: readonly ChosenBy[]
}

/** The channels of an item, and whose word they were. */
export interface ChosenBy {
  readonly channels: readonly Channel[]
  /** The request named the channels: no preference takes them away. */
  readonly byRequest: boolean
}

export interface PendingItem extends ChosenBy {
  readonly notificationId: string
  readonly actor: string
  readonly at: number
  readonly data: Data
  /** From when on nothing of it is sent any more, Unix milliseconds. */
  readonly expiresAt?: number
}

/** What waits for its time. What is claimed is leased; admission takes it away. */
export interface Waiting {
  claimDeferred(bucket: number, limit: number, leaseMs: number, now: number): Promise<readonly DueDeferred[]>
  /** Closes the windows that are due and answers them with their items; again, when a closed one was left lying. */
  closeWindows(bucket: number, limit: number, leaseMs: number, now: number): Promise<readonly ClosedWindow[]>
}
