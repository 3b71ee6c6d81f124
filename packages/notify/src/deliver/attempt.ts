import type { SendResult } from '@gatehouse/providers'
import type { Target } from '../model/notification.ts'
import type { ClaimedDelivery } from '../store/store.ts'
import { noProvider, type TargetResult } from './next-step.ts'

/** One try of a delivery, whose targets may be answered by different providers at different times. */
export interface PendingAttempt {
  readonly claimed: ClaimedDelivery
  readonly results: readonly TargetResult[]
  /** Targets that were not called, for want of time. */
  readonly untried: readonly Target[]
  /** Takes an answer, or undefined for a target that was not called; answers the try itself once all are in. */
  answered(target: Target, provider: string, result: SendResult | undefined): PendingAttempt[]
}

/** A call that belongs to a try. */
export interface Call {
  readonly of: PendingAttempt
  readonly target: Target
  /** It tells whether a provider that was failing takes calls again. */
  readonly isProbe: boolean
}

export function openAttempt(claimed: ClaimedDelivery): PendingAttempt {
  const results: TargetResult[] = []
  const untried: Target[] = []
  const opened: PendingAttempt = {
    claimed,
    results,
    untried,
    answered(target, provider, result) {
      if (!result) untried.push(target)
      results.push({
        target,
        provider: result ? provider : noProvider,
        result: result ?? { kind: 'rate_limited', retryAfterMs: 0, reason: 'no time was left' },
      })
      return results.length === claimed.message.targets.length ? [opened] : []
    },
  }
  return opened
}
