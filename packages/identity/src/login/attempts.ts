import { enforceLimits } from '../config/attempt-limits.ts'
import type { LoginContext } from '../context/features.ts'

/** Who tries to sign in, and from where. */
export interface SignInAttempt {
  readonly account: string
  readonly address: string
  /** Whether the user signed in with this browser before. */
  readonly isKnown: boolean
}

/**
 * Counts an attempt before its password is looked at, so that many at once are counted too. Known devices are counted by
 * account and address together alone.
 * @returns whether a right password has to be confirmed by mail: others guess at this account
 * @throws PageError 429 when there were too many for this account, or too many failures at all, from this address
 */
export async function recordAttempt(
  context: LoginContext,
  { account, address, isKnown }: SignInAttempt,
): Promise<boolean> {
  await enforceLimits(context.limit, [
    ['login', { account, address }],
    ...(isKnown ? [] : [['login-address', { address }] as const]),
  ])
  // Without mail nobody could confirm anything, and whoever guesses could lock the owner out.
  if (isKnown || !context.mail) return false
  return !(await context.limit('login-account', { account })).allowed
}

/**
 * Takes back what was counted of an attempt that was right: only failures count. Who knows the password guesses this account
 * no more, so its count from there begins again; that of the address goes on, for it may be about other accounts.
 */
export async function refundAttempt(
  context: LoginContext,
  { account, address, isKnown }: SignInAttempt,
): Promise<void> {
  const refunds = [
    context.forgive('login', { account, address }),
    ...(isKnown ? [] : [context.refund('login-address', { address })]),
    ...(isKnown || !context.mail ? [] : [context.refund('login-account', { account })]),
  ]
  for (const outcome of await Promise.allSettled(refunds)) {
    if (outcome.status === 'fulfilled') continue
    context.log.warn({ err: outcome.reason }, 'a successful sign-in attempt was not refunded')
  }
}
