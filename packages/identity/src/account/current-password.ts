import { enforceLimits } from '../config/attempt-limits.ts'
import type { AccountContext } from '../context/features.ts'

/**
 * Counts an attempt to enter the current password before it is verified: by account and address, and by account
 * together with sign-ins, so that the holder of a stolen session can't guess from many addresses.
 * @throws PageError 429 after too many attempts
 */
export function recordPasswordAttempt({ limit }: AccountContext, account: string, address: string): Promise<void> {
  return enforceLimits(limit, [
    ['login', { account, address }],
    ['login-account', { account }],
  ])
}

/** Refunds the attempt of a correct password: by account only failures count. */
export async function refundPasswordAttempt({ refund, log }: AccountContext, account: string): Promise<void> {
  try {
    await refund('login-account', { account })
  } catch (error) {
    log.warn({ err: error }, 'a successful attempt at a password change was not refunded')
  }
}
