import type { AttemptDecision } from '../config/attempt-limits.ts'
import type { FactorContext } from '../context/features.ts'

/** What an attempt at a second factor is counted by. */
export interface FactorAttempt {
  readonly account: string
  /** The id of a device that the user has signed in on before, or `unknown` for all others together. */
  readonly device: string
  readonly challenge: string
}

/** Why an attempt is rejected before its code is looked at. */
export type Rejection = { readonly reason: 'challenge' } | { readonly reason: 'account'; readonly retryAfter: number }

/**
 * Counts an attempt before its code is verified, so that concurrent attempts are counted too. Every kind of factor shares
 * these counts. Guesses from unknown devices don't lock the user out of known ones.
 */
export async function recordFactorAttempt(
  { limit }: FactorContext,
  { account, device, challenge }: FactorAttempt,
): Promise<Rejection | undefined> {
  if (!(await limit('factor-challenge', { challenge })).allowed) return { reason: 'challenge' }
  for (const policy of ['factor', 'factor-day'] as const) {
    const decision: AttemptDecision = await limit(policy, { account, device })
    if (!decision.allowed) return { reason: 'account', retryAfter: decision.retryAfter ?? 60 }
  }
  return undefined
}

/** Refunds a successful attempt: only failures count. */
export async function refundFactorAttempt(
  { refund, log }: FactorContext,
  { account, device }: FactorAttempt,
): Promise<void> {
  const refunds = (['factor', 'factor-day'] as const).map((policy) => refund(policy, { account, device }))
  for (const outcome of await Promise.allSettled(refunds)) {
    if (outcome.status === 'rejected') log.warn({ err: outcome.reason }, 'a successful second factor was not refunded')
  }
}
