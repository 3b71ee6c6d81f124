import type { Channel } from '../channel.ts'
import type { Data } from '../notification.ts'

/** Deliveries that wake and are planned again. */
export interface WokenDeferral {
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
  readonly sensitive: boolean
  readonly requested?: readonly Channel[]
  readonly dedupKey?: string
  /** Left out when it was erased. */
  readonly data?: Data
}

/** A pending set that takes no further items: what is in it is to be flushed. */
export interface ClosedWindow {
  readonly id: string
  readonly userId: string
  readonly event: string
  /** Oldest first. */
  readonly items: readonly PendingItem[]
}

export interface PendingItem {
  readonly notificationId: string
  readonly actor: string
  readonly at: number
  readonly data: Data
  readonly channels: readonly Channel[]
  /** The request named the channels: no preference takes them away. */
  readonly byRequest: boolean
}

/** What waits for its time. What is claimed is leased; admission takes it away. */
export interface Waiting {
  claimDeferrals(bucket: number, limit: number, leaseMs: number, now: number): Promise<readonly WokenDeferral[]>
  /** Closes the windows that are due and answers them with their items; again, when a closed one was left lying. */
  closeWindows(bucket: number, limit: number, leaseMs: number, now: number): Promise<readonly ClosedWindow[]>
}
