import type { Provider, SendResult } from '@gatehouse/providers'
import type { Target } from '../model/notification/notification.ts'
import type { AttemptRecord, ClaimedDelivery } from '../store/store.ts'

/** The result of one target of a delivery. */
export interface TargetResult {
  readonly target: Target
  /** The provider's name, or {@link noProvider}. */
  readonly provider: string
  readonly result: SendResult
}

/** Stands for the provider of a target for which none was called. */
export const noProvider = 'none'

/** One attempt of a delivery. */
export interface Attempt {
  readonly claimed: ClaimedDelivery
  /** One for each target, in the order in which they came. */
  readonly results: readonly TargetResult[]
  /** False when time ran out before any target was called: the delivery is then released as it was. */
  readonly isMade: boolean
}

/** The call of a provider for one target of an attempt. */
export interface Call {
  readonly attempt: OpenAttempt
  readonly target: Target
  readonly provider: Provider
  /** It tests whether a provider that was failing accepts calls again. */
  readonly isProbe: boolean
}

/** A delivery that goes back to the queue without an attempt, due no sooner than `dueAt` (default: than it was). */
export interface Release {
  readonly claimed: ClaimedDelivery
  /** Unix milliseconds. */
  readonly dueAt?: number
  /** Since when it waits for a provider, Unix milliseconds; left out where it does not. */
  readonly waitsSince?: number
}

/** What follows an attempt and is recorded: the store's record of it. */
export type AttemptStep = AttemptRecord

/** What the completer is given for each claimed delivery. */
export type Step = AttemptStep | Release

/** Whether some target of a delivery was accepted in an earlier attempt: a column of the table of transitions. */
export function acceptedBefore({ message }: ClaimedDelivery): 'before' | 'never' {
  return message.partlyAccepted ? 'before' : 'never'
}

const notCalled: SendResult = { kind: 'rate_limited', retryAfterMs: 0, reason: 'no time was left' }

/** An attempt under way: its targets may be answered by different providers, at different times. */
export class OpenAttempt {
  readonly claimed: ClaimedDelivery
  /** Resolves when all of the targets have a result; never where a call failed unexpectedly. */
  readonly done: Promise<Attempt>
  readonly #resolve: (attempt: Attempt) => void
  readonly #results: TargetResult[] = []
  #skipped = 0

  constructor(claimed: ClaimedDelivery) {
    this.claimed = claimed
    const { promise, resolve } = Promise.withResolvers<Attempt>()
    this.done = promise
    this.#resolve = resolve
  }

  /** Adds the result of a target. */
  addResult(result: TargetResult): void {
    const { claimed } = this
    const results = this.#results
    const { length } = claimed.message.targets
    if (results.push(result) === length) this.#resolve({ claimed, results, isMade: this.#skipped < length })
  }

  /** Adds that a target was not called, for lack of time. */
  skip(target: Target): void {
    this.#skipped++
    this.addResult({ target, provider: noProvider, result: notCalled })
  }
}
