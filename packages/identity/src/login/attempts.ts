import { enforceLimits } from '../config/attempt-limits.ts'
import type { LoginContext } from '../context/features.ts'

/** An attempt to sign in. */
export interface SignInAttempt {
  readonly account: string
  readonly address: string
  /** Whether the user signed in with this browser before. */
  readonly isKnown: boolean
}

/**
 * Counts an attempt before its password is verified, so that concurrent attempts are counted too. Attempts from known
 * devices are counted by account and address together only.
 * @returns whether a correct password must be confirmed by mail, because the account is under attack
 * @throws PageError 429 after too many attempts for this account, or too many failures in all, from this address
 */
export async function recordAttempt(
  context: LoginContext,
  { account, address, isKnown }: SignInAttempt,
): Promise<boolean> {
  await enforceLimits(context.limit, [
    ['login', { account, address }],
    ...(isKnown ? [] : [['login-address', { address }] as const]),
  ])
  // Without mail a user could not confirm, so an attacker could lock them out.
  if (isKnown || !context.mail) return false
  return !(await context.limit('login-account', { account })).allowed
}

/**
 * Refunds a successful attempt: only failures count. The count by account and address starts again; that of the address
 * continues, because its failures may be about other accounts.
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
