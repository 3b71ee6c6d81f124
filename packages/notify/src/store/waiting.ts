import type { Channel } from '../model/channel.ts'
import type { EventRate } from '../model/notification/event-type.ts'
import type { Data, NotifyRequest } from '../model/notification/notification.ts'

/** Deliveries that wake and are planned again. */
export interface DueDeferred {
  readonly bucket: number
  readonly id: string
  readonly reason: 'quiet_hours' | 'fallback' | 'replay'
  readonly channels: readonly Channel[]
  readonly notification: StoredNotification
  /** The dead letter that a replay gave back, as the store has it: what stops the replay makes it one again. */
  readonly letter?: object
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

/** What an open window holds: its first items, and what all of them come to. */
export interface GatheredWindow {
  /** Unix milliseconds. */
  readonly flushAt: number
  readonly items: readonly PendingItem[]
  readonly summary: WindowSummary
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
  /** How often it could not be accepted, by its own fault. */
  readonly failures?: number
  /** Somebody has leased it: a worker that fires it, or that died. */
  readonly isUnderWay?: boolean
  /** How many microseconds after `fireAt` it is due: events of the topic that are released together keep their order so. */
  readonly microseconds?: number
}

/** An event whose time has come. */
export interface DueScheduled extends Scheduled {
  readonly bucket: number
}

/** Which scheduled notifications; what is left out is any. */
export interface ScheduledFilter {
  readonly userId?: string
  /** From when on it fires, and before when; Unix milliseconds. */
  readonly from?: number
  readonly to?: number
  readonly event?: string
}

/** Notifications for later. */
export interface Schedule {
  add(fireAt: number, payload: NotifyRequest, id?: string): Promise<string>
  find(id: string): Promise<Scheduled | undefined>
  /** Up to `limit` that the filter names, the soonest first, behind one that was listed before. */
  list(
    filter: ScheduledFilter,
    after: Pick<Scheduled, 'fireAt' | 'microseconds' | 'id'> | undefined,
    limit: number,
  ): Promise<readonly Scheduled[]>
  /**
   * Has one fire at another time: `fired` where whoever fires it came first, or it is not there. With `before`, the time that
   * was read, `changed` where it is another one by now.
   */
  move(id: string, fireAt: number, before?: number): Promise<'moved' | 'changed' | 'firing' | 'fired'>
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
  /** Its place among all messages of the topic. */
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

/** What waits for its time, and why. */
export interface PendingEntry {
  readonly id: string
  readonly userId: string
  readonly event: string
  /** The notification that is deferred. */
  readonly notificationId?: string
  readonly channels?: readonly Channel[]
  /** How many events are gathered. */
  readonly items?: number
  /** Unix milliseconds. */
  readonly dueAt: number
  readonly reason: 'quiet_hours' | 'fallback' | 'replay' | 'aggregated'
  /** Somebody has leased it: a worker that plans it, or that died. */
  readonly isUnderWay: boolean
}

/** What waits for its turn of an event type. */
export interface ParkedEvent {
  readonly event: string
  /** Counted up to 10,000 in each bucket. */
  readonly items: number
  /** Where they are. */
  readonly buckets: readonly number[]
}

/** Deliveries of a channel and priority that are in the queue. */
export interface QueueDepth {
  readonly channel: Channel
  readonly priority: number
  /** Due, and nobody has them. */
  readonly due: number
  /** Due later: they are tried again. */
  readonly later: number
  readonly leased: number
  /** When the first that is due was due, Unix milliseconds. */
  readonly oldestDueAt?: number
}

/** How deep the queue is. */
export interface QueueReport {
  readonly depths: readonly QueueDepth[]
  /** False where there are more rows than are looked at. */
  readonly isComplete: boolean
}

/** What waits, for those who look after it. */
export interface Backlog {
  /** Up to `limit` of a kind, the soonest first, behind one that was listed before. */
  list(
    filter: { readonly kind: 'deferred' | 'aggregating'; readonly event?: string },
    after: Pick<PendingEntry, 'dueAt' | 'id'> | undefined,
    limit: number,
  ): Promise<readonly PendingEntry[]>
  listParked(): Promise<readonly ParkedEvent[]>
  /** What waits under an id, and is not under way. */
  find(id: string): Promise<Pick<PendingEntry, 'userId' | 'event' | 'reason'> | undefined>
  /** Makes an open window, or a deferral that no quiet hours made, due now. */
  release(id: string, now: number): Promise<'released' | 'quiet' | 'gone'>
  queue(now: number): Promise<QueueReport>
}
