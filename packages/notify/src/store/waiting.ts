import type { Channel } from '../model/channel.ts'
import type { EventRate } from '../model/event-type.ts'
import type { Data, NotifyRequest } from '../model/notification.ts'

/** Deliveries that wake and are planned again. */
export interface DueDeferred {
  readonly bucket: number
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
  readonly bucket: number
  readonly id: string
  readonly userId: string
  readonly event: string
  /** The first of its items, oldest first. */
  readonly items: readonly PendingItem[]
  /** What all of them come to; left out once they are told one by one. */
  readonly summary?: WindowSummary
}

/** What all items of a window come to. */
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

/** An aggregated notification. */
export interface PendingItem extends ChosenBy {
  readonly notificationId: string
  readonly actor: string
  readonly at: number
  readonly data: Data
  /** From when on nothing of it is sent any more, Unix milliseconds. */
  readonly expiresAt?: number
}

/**
 * What waits for its time. What is claimed is leased; admission takes it away. Buckets are claimed in the order given: when
 * the limit is reached, nothing is claimed in those that follow.
 */
export interface Waiting {
  claimScheduled(
    buckets: readonly number[],
    limit: number,
    leaseMs: number,
    now: number,
  ): Promise<readonly DueScheduled[]>
  claimDeferred(
    buckets: readonly number[],
    limit: number,
    leaseMs: number,
    now: number,
  ): Promise<readonly DueDeferred[]>
  /** Closes the windows that are due and answers them with their items; again, when a closed one was left lying. */
  closeWindows(
    buckets: readonly number[],
    limit: number,
    leaseMs: number,
    now: number,
  ): Promise<readonly ClosedWindow[]>
}

/** An event for later. */
export interface Scheduled {
  readonly id: string
  readonly fireAt: number
  readonly payload: NotifyRequest
  /** When it was first received, where its age counts from then and not from when it is due; Unix milliseconds. */
  readonly occurredAt?: number
  /** Where it came from: `schedule`, or `topic` when it was parked. */
  readonly source: string
}

/** An event whose time has come. */
export interface DueScheduled extends Scheduled {
  readonly bucket: number
}

/** Notifications for later. */
export interface Schedule {
  add(fireAt: number, payload: NotifyRequest): Promise<string>
  find(id: string): Promise<Scheduled | undefined>
  /** Those of a user, the soonest first, behind the one that `after` names. */
  list(
    userId: string,
    after: Pick<Scheduled, 'fireAt' | 'id'> | undefined,
    limit: number,
  ): Promise<readonly Scheduled[]>
  /** True for exactly one: the canceller, or whoever fires it. */
  cancel(id: string): Promise<boolean>
  /** Makes a dead letter of one that can't be fired. */
  moveToDeadLetters(scheduled: Scheduled, cause: string, detail: string, now: number): Promise<void>
  /**
   * Counts a failure of one by its own fault, and makes a dead letter of it at the `maxAttempts`th. True when it is one;
   * until then it comes again when its lease has ended.
   */
  recordFailure(scheduled: Scheduled, maxAttempts: number, reason: string, now: number): Promise<boolean>
}

/** The first of an event type that waits. */
export interface ParkedHead {
  readonly event: string
  /** Its place in the stream. */
  readonly place: number
}

/** The events of a type that wait for their turn, and how often those may be sent: undefined for no rate. */
export interface ParkedEvents {
  readonly event: string
  readonly rate: EventRate | undefined
}

/** Events of the topic that came over their type's rate, until their turn comes. {@link Intake.acquireRates} parks them. */
export interface Parked {
  /** The first of each event type that has some. */
  heads(bucket: number): Promise<readonly ParkedHead[]>
  /** Schedules up to `max` of a type, oldest first, to be fired at once, as far as its rate allows; answers how many. */
  release(bucket: number, of: ParkedEvents, max: number, now: number): Promise<number>
}
