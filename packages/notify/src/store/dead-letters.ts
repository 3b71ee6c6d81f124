import type { Channel } from '../model/channel.ts'
import type { NotifyRequest } from '../model/notification.ts'

/** A delivery that failed for good, or an event that could not be accepted. */
export interface DeadLetter {
  readonly id: string
  readonly notificationId?: string
  readonly userId?: string
  readonly channel?: Channel
  readonly event?: string
  readonly cause: string
  readonly detail: string
  readonly diedAt: number
  /** From when on it can't be replayed, Unix milliseconds. */
  readonly expiresAt?: number
  /** What an invalid message of the topic said. */
  readonly text?: string
}

/** A message of the topic that can't be taken. */
export interface InvalidMessage {
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
  /** Gives up to `limit` letters back to be delivered at `at`. Each goes back once; what has expired by then stays. */
  replay(filter: DeadLetterFilter, limit: number, at: number): Promise<Replayed>
  /** Takes letters away for good; answers how many. */
  discard(filter: DeadLetterFilter, limit: number): Promise<number>
  addInvalid(message: InvalidMessage, now: number): Promise<void>
  /** Counts a failure of a message, and makes one dead letter of it at the `maxAttempts`th, however often it comes again. */
  countFailure(message: FailedMessage, maxAttempts: number, now: number): Promise<CountedFailure>
}
