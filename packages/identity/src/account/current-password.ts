import { enforceLimits } from '../config/attempt-limits.ts'
import type { AccountContext } from '../context/features.ts'

/**
 * Counts a try of the old password before it is looked at: by account and address, and with those at sign-in by account,
 * so that whoever holds a session of somebody else guesses no more from many addresses.
 * @throws PageError 429 when there were too many
 */
export function recordPasswordAttempt({ limit }: AccountContext, account: string, address: string): Promise<void> {
  return enforceLimits(limit, [
    ['login', { account, address }],
    ['login-account', { account }],
  ])
}

/** Takes back what was counted by account of a try that was right: only failures count there. */
export async function refundPasswordAttempt({ refund, log }: AccountContext, account: string): Promise<void> {
  try {
    await refund('login-account', { account })
  } catch (error) {
    log.warn({ err: error }, 'a successful attempt at a password change was not refunded')
  }
}
