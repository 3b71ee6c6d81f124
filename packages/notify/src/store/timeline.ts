import type { Channel } from '../model/channel.ts'
import type { DeliveryState } from '../model/delivery/delivery-state.ts'
import type { NotificationRecord } from '../model/notification/notification.ts'
import type { ChangeRecord } from '../model/notification/state-change.ts'
import type { StreamedEvent } from '../model/work/topic.ts'
import type { StoredNotification } from './waiting.ts'

/** A notification whose timeline is followed. */
export interface FollowedNotification extends NotificationRecord {
  /** The id of each entry of the timeline; those of what was decided when it was accepted are `{id of the notification}/{n}`. */
  readonly entryIds: readonly string[]
}

/** What a cancellation came to. */
export interface Cancelled {
  readonly cancelled: readonly Channel[]
  /** Channels that a worker has now. */
  readonly underWay: readonly Channel[]
}

/** Accepted notifications. */
export interface Notifications {
  find(id: string): Promise<NotificationRecord | undefined>
  /** The same, with what tells its entries apart. */
  follow(id: string): Promise<FollowedNotification | undefined>
  /** The id that the provider gave the message of a delivery, where it gave one. */
  findProviderMessageId(deliveryId: string): Promise<string | undefined>
  /** As it was accepted, for planning or sending it again. */
  findStored(id: string): Promise<StoredNotification | undefined>
  /**
   * Ends on these channels what waits and nobody works at: of this and a worker that claims it, the first one has it.
   * Undefined where there is no such notification.
   */
  cancel(id: string, channels: readonly Channel[], now: number): Promise<Cancelled | undefined>
  /** Records in the timeline as what it was sent once more; once, however often it is recorded. */
  recordResent(id: string, newId: string, channels: readonly Channel[], now: number): Promise<void>
}

/** A change of state in the log, by its number: there is one order, and a number is seen after all lower ones. */
export interface LoggedChange extends StreamedEvent {
  readonly sequence: number
  readonly payload: ChangeRecord
}

/** Numbers of the log: the last that was given, the last of those removed for their age, the last that was published. */
export interface LogPositions {
  readonly last: number
  readonly removed: number
  readonly published: number
}

/** Which state changes; what is left out is any. */
export interface ChangeFilter {
  readonly event?: string
  readonly state?: DeliveryState
  readonly channel?: Channel
}

/** State changes in order, and how far the log was read. */
export interface ChangePage extends LogPositions {
  readonly changes: readonly LoggedChange[]
  /** Everything up to here was looked at. */
  readonly through: number
}

/**
 * The log of state changes. What a transaction leaves in the outbox is numbered after its commit, so that a reader who
 * resumes after a number misses nothing that is committed late.
 */
export interface StateChanges {
  /**
   * Numbers what up to `limit` transactions left in the outbox, in these buckets; answers how many changes: fewer than
   * `limit` where no more wait.
   */
  number(buckets: readonly number[], limit: number, now: number): Promise<number>
  positions(): Promise<LogPositions>
  /** Up to `limit` that match, with numbers above `after`, in order. Looks at a bounded number of changes. */
  read(after: number, limit: number, filter: ChangeFilter): Promise<ChangePage>
  /** Takes the right to publish for a time, or keeps it; undefined while another holds it. Answers what is published. */
  acquire(holder: string, leaseMs: number): Promise<number | undefined>
  /** Records that all up to `through` are published, and keeps or ends the lease. Never moves backwards. */
  recordPublished(holder: string, through: number, leaseMs: number): Promise<void>
  /**
   * Removes what up to `limit` of the oldest transactions left, of before a time, where `onlyPublished` only what is
   * published; answers of how many.
   */
  purge(before: number, onlyPublished: boolean, limit: number): Promise<number>
}
