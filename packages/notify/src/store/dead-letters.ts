import type { Channel } from '../model/channel.ts'
import type { NotifyRequest } from '../model/notification/notification.ts'

/** A delivery that failed for good, or an event that could not be accepted. */
export interface DeadLetter {
  readonly id: string
  readonly notificationId?: string
  readonly userId?: string
  readonly channel?: Channel
  readonly event?: string
  readonly cause: string
  readonly detail: string
  /** The same for letters that died of the same. */
  readonly fingerprint: string
  /** The provider whose answer it was, where it died of one. */
  readonly provider?: string
  readonly diedAt: number
  /** From when on it can't be replayed, Unix milliseconds. */
  readonly expiresAt?: number
  /** What an invalid message of the topic said. */
  readonly text?: string
}

/** A message of the topic that can't be taken. */
export interface InvalidMessage {
  /** The same however often the message is delivered. */
  readonly key: string
  readonly text: string
  readonly reason: string
  /** Whom and what it is about, as far as it tells. */
  readonly userId?: string
  readonly event?: string
  /** What it asks for, where that may be taken once what it names is there. */
  readonly request?: NotifyRequest
}

/** A message of the topic that is valid, and whose handling fails for something in it. */
export interface FailedMessage {
  /** The same however often the message is delivered. */
  readonly key: string
  readonly text: string
  readonly reason: string
  readonly request: NotifyRequest
}

/** How often a message failed by its own fault, and whether it is a dead letter. */
export interface CountedFailure {
  readonly attempts: number
  readonly isDead: boolean
}

/** Which dead letters; what is left out is any. */
export interface DeadLetterFilter {
  readonly cause?: string
  readonly channel?: Channel
  readonly event?: string
  readonly userId?: string
  readonly ids?: readonly string[]
  /** The provider whose answer it was. */
  readonly provider?: string
  readonly fingerprint?: string
  /** From when on it died, and before when; Unix milliseconds. */
  readonly from?: number
  readonly to?: number
}

/** What dead letters are grouped by. */
export const deadLetterGroupings = ['cause', 'provider', 'event', 'fingerprint'] as const

/** What dead letters are grouped by. */
export type DeadLetterGrouping = (typeof deadLetterGroupings)[number]

/** Dead letters that have something in common. */
export interface DeadLetterGroup {
  /** Left out of those that have none. */
  readonly key?: string
  readonly count: number
  /** When the first and the last of them died, Unix milliseconds. */
  readonly firstAt: number
  readonly lastAt: number
  /** The last of them. */
  readonly sample: Pick<DeadLetter, 'id' | 'cause' | 'detail'>
  /** How many died in each span of the trend, the oldest span first. */
  readonly trend: readonly number[]
}

/** Into how many spans of equal length a trend is divided. */
export const trendSpans = 12

/** The time that a trend is about, Unix milliseconds. */
export interface LetterTrend {
  readonly from: number
  readonly to: number
}

/** How many letters a filter names, and how many of them have expired. */
export interface LetterCount {
  readonly matched: number
  readonly expired: number
}

/** Groups of dead letters, the largest first. */
export interface DeadLetterSummary {
  readonly groups: readonly DeadLetterGroup[]
  /** How many letters were looked at. */
  readonly total: number
  /** False where there are more, of which the oldest were not looked at. */
  readonly isComplete: boolean
}

/** How a replay goes, and under which id its progress is read. */
export interface ReplayPace {
  readonly batchId: string
  /** How many a second; undefined for all at once. */
  readonly perSecond?: number | undefined
  /** Unix milliseconds. */
  readonly now: number
}

/** What became of a replay by now. */
export interface ReplayProgress {
  readonly createdAt: number
  readonly total: number
  readonly sent: number
  readonly waiting: number
  /** Dead again. */
  readonly dead: number
  /** When it was stopped, Unix milliseconds. */
  readonly stoppedAt?: number
  /** The first of them, in the order of their ids. */
  readonly first: readonly ReplayedLetter[]
}

/** A letter that was replayed, and what became of it. */
export interface ReplayedLetter {
  readonly id: string
  /** Left out where it is a scheduled event, or purged. */
  readonly notificationId?: string
  readonly status: 'sent' | 'waiting' | 'dead' | 'gone'
}

/** What came of a replay: how many letters went back, and how many of those that were meant have expired by then. */
export interface Replayed {
  readonly replayed: number
  readonly expired: number
}

/** Deliveries that were given up, and events that could not be taken. */
export interface DeadLetters {
  find(id: string): Promise<DeadLetter | undefined>
  /** Newest first, those that died before the letter `before`. */
  list(filter: DeadLetterFilter, limit: number, before: string | undefined): Promise<readonly DeadLetter[]>
  summarize(groupBy: DeadLetterGrouping, filter: DeadLetterFilter, trend: LetterTrend): Promise<DeadLetterSummary>
  /**
   * Counts up to `limit` letters; with `at` (Unix milliseconds), of those that can be replayed, and those that have expired by
   * then.
   */
  count(filter: DeadLetterFilter, limit: number, at?: number): Promise<LetterCount>
  /** The progress of a replay that had a pace. */
  findReplay(batchId: string): Promise<ReplayProgress | undefined>
  /**
   * Makes dead letters again of what a replay has not sent yet, and answers how many; undefined for no such replay. What
   * a worker has at that moment stays on its way.
   */
  stopReplay(batchId: string, now: number): Promise<number | undefined>
  /**
   * Gives up to `limit` letters back to be delivered at `at`, or from then on at a pace. Each goes back once; what has
   * expired by `at` stays.
   */
  replay(filter: DeadLetterFilter, limit: number, at: number, pace?: ReplayPace): Promise<Replayed>
  /** Takes letters away for good; answers how many. */
  discard(filter: DeadLetterFilter, limit: number): Promise<number>
  /** Makes one dead letter of a message, however often it comes again. */
  addInvalid(message: InvalidMessage, now: number): Promise<void>
  /** Counts a failure of a message, and makes one dead letter of it at the `maxAttempts`th, however often it comes again. */
  countFailure(message: FailedMessage, maxAttempts: number, now: number): Promise<CountedFailure>
}
