import { type Clock, type KeyRing, randomToken, seal, unseal } from '@gatehouse/kit'
import type { SignInSecrets } from '../provider/provider.ts'

/** A sign-in that is under way, kept sealed in a cookie of the browser that began it. */
export interface SignInTransaction extends SignInSecrets {
  /** The path to go to afterwards. */
  readonly returnTo: string
  /** The hash of the session id that the new session replaces. */
  readonly replaces: string | undefined
  readonly expiresAt: number
}

/** How long a sign-in may take, in seconds. */
export const signInSeconds = 600
const purpose = 'console sign-in'

/** Begins a sign-in with fresh secrets. */
export function beginTransaction(
  clock: Clock,
  { returnTo, maxAge, replaces }: Pick<SignInTransaction, 'returnTo' | 'maxAge' | 'replaces'>,
): SignInTransaction {
  const expiresAt = clock.now() + signInSeconds * 1000
  return {
    state: randomToken(),
    nonce: randomToken(),
    codeVerifier: randomToken(),
    maxAge,
    returnTo,
    replaces,
    expiresAt,
  }
}

/** The transaction as the value of a cookie. */
export function sealTransaction(transaction: SignInTransaction, key: KeyRing): string {
  return seal(JSON.stringify(transaction), key, purpose)
}

/** Reads the value of a cookie; undefined for any that {@link sealTransaction} did not write, or that has expired. */
export function openTransaction(value: string | undefined, key: KeyRing, clock: Clock): SignInTransaction | undefined {
  if (value === undefined) return undefined
  try {
    const transaction = JSON.parse(unseal(value, key, purpose)) as SignInTransaction
    return transaction.expiresAt > clock.now() ? transaction : undefined
  } catch {
    return undefined
  }
}
