import type { Clock, Log } from '@gatehouse/kit'
import type { NotifyOptions } from '../../config/options.ts'
import type { Channel } from '../../model/channel.ts'
import type { BucketErrors, Deliveries } from '../../store/store.ts'
import type { Call } from '../attempt.ts'
import { unresolvedProvider } from '../providers/provider-history.ts'
import type { ProviderPool } from '../providers/provider-pool.ts'
import { type CallMarks, createCallMarks } from './call-marks.ts'
import { type ClaimCheck, createClaimCheck } from './claim-check.ts'
import { canSend } from './send-conditions.ts'

/** What the checks need. */
export interface PreflightOptions {
  readonly channel: Channel
  readonly deliveries: Pick<Deliveries, 'findStillClaimed' | 'markCalled'>
  readonly options: NotifyOptions
  readonly clock: Clock
  readonly log: Log
}

const unchecked = 'claimed deliveries could not be checked; they wait'
const unmarked = 'calls could not be marked; their deliveries wait'

/** The last checks before a provider is called: a delivery may have waited for a slot since it was claimed. */
export class Preflight {
  readonly #settings: PreflightOptions
  readonly #pool: Pick<ProviderPool, 'availability'>
  readonly #claimCheck: ClaimCheck
  readonly #callMarks: CallMarks

  constructor(settings: PreflightOptions, pool: Pick<ProviderPool, 'availability'>) {
    this.#settings = settings
    this.#pool = pool
    this.#claimCheck = createClaimCheck(settings.deliveries, (failed) => this.#warnOfBuckets(failed, unchecked))
    this.#callMarks = createCallMarks(settings.deliveries, (failed) => this.#warnOfBuckets(failed, unmarked))
  }

  /**
   * Whether each call may be made: not if its delivery expired, its user's quiet hours began, its user was erased or its
   * device is no longer the user's.
   * `claimedAt` is from before the deliveries were claimed, by `performance.now()`.
   */
  async check(calls: readonly Call[], claimedAt: number): Promise<readonly boolean[]> {
    const isClaimed = await this.#checkClaims(calls, claimedAt)
    const now = this.#settings.clock.now()
    const isAllowed = calls.map((call, index) => isClaimed[index] === true && this.#canSend(call, now))
    return this.#markCalls(calls, isAllowed)
  }

  /** What can't be looked up is not sent: it may have been erased. */
  async #checkClaims(calls: readonly Call[], claimedAt: number): Promise<readonly boolean[]> {
    try {
      return await this.#claimCheck.check(calls, claimedAt)
    } catch (error) {
      this.#warn(error, unchecked)
      return calls.map(() => false)
    }
  }

  /** The calls that may still be made once those that must be marked are. */
  async #markCalls(calls: readonly Call[], isAllowed: readonly boolean[]): Promise<readonly boolean[]> {
    const marking = calls.filter((call, index) => isAllowed[index] && this.#mustMark(call))
    if (marking.length === 0) return isAllowed
    try {
      const isMarked = await this.#callMarks.mark(marking.map(markOf))
      const leftOut = new Set(marking.filter((_, index) => !isMarked[index]))
      const now = this.#settings.clock.now()
      return calls.map((call, index) => isAllowed[index] === true && !leftOut.has(call) && this.#canSend(call, now))
    } catch (error) {
      this.#warn(error, unmarked)
      return calls.map((call, index) => isAllowed[index] === true && !marking.includes(call))
    }
  }

  #mustMark({ attempt: { claimed }, target }: Call): boolean {
    const { message } = claimed
    if (message.failoverOnTimeout !== false || unresolvedProvider(message, target) !== undefined) return false
    return this.#pool.availability(target, {}).length > 1
  }

  #canSend({ attempt }: Call, now: number): boolean {
    return canSend(attempt.claimed, this.#settings.options, now)
  }

  #warn(error: unknown, message: string): void {
    const { channel, log } = this.#settings
    log.warn({ err: error, channel }, message)
  }

  #warnOfBuckets(failed: BucketErrors, message: string): void {
    const { channel, log } = this.#settings
    for (const [bucket, err] of failed) log.warn({ err, channel, bucket }, message)
  }
}

function markOf({ attempt, target, provider }: Call) {
  return { claimed: attempt.claimed, target: target.id, provider: provider.name }
}
