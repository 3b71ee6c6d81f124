import { PageError } from '../pages/page-error.ts'

/** The decision of the limiter. */
export interface AttemptDecision {
  readonly allowed: boolean
  /** Whole seconds until the next attempt is allowed. */
  readonly retryAfter?: number | undefined
}

/** Counts one attempt under a policy, by identifiers. */
export type Limit = (
  policy: AttemptLimitName,
  identifiers: Readonly<Record<string, string>>,
) => Promise<AttemptDecision>

/** Refunds one attempt that was counted under a policy, because it succeeded. */
export type Refund = (policy: AttemptLimitName, identifiers: Readonly<Record<string, string>>) => Promise<void>

/** Whole seconds for which attempts are known to be rejected; 0 for none. The store is asked every few seconds at most. */
export type Blocked = (policy: AttemptLimitName, identifiers: Readonly<Record<string, string>>) => Promise<number>

/** Resets the count of a policy for the identifiers. */
export type Forgive = (policy: AttemptLimitName, identifiers: Readonly<Record<string, string>>) => Promise<void>

/** The name of an attempt limit. */
export type AttemptLimitName =
  | 'login'
  | 'login-account'
  | 'login-address'
  | 'login-link'
  | 'factor'
  | 'factor-day'
  | 'factor-challenge'
  | 'passkey-address'
  | 'passkey-challenge'
  | 'provider-address'
  | 'provider-logout'
  | 'email-code'
  | 'email-code-account'
  | 'email-code-address'
  | 'email-code-entry'
  | 'email-code-entry-account'
  | 'email-code-entry-address'
  | 'phone-code'
  | 'phone-code-day'
  | 'phone-code-address'
  | 'phone-code-number'
  | 'phone-code-range'
  | 'phone-code-entry'
  | 'phone-code-entry-day'
  | 'device-code'
  | 'device-code-address'
  | 'reset'
  | 'reset-address'
  | 'registration'
  | 'registration-account'
  | 'invitation'
  | 'invitation-account'
  | 'domain-verification'
  | 'client-authentication'
  | 'client-authentication-address'
  | 'token-client'
  | 'token-address'
  | 'introspect-client'
  | 'revoke-client'
  | 'revoke-address'
  | 'par-client'
  | 'par-address'
  | 'device-client'
  | 'device-address'

/** How many attempts in how many seconds, counted by what. */
interface AttemptLimit {
  readonly limit: number
  readonly windowSeconds: number
  readonly by: readonly string[]
  /** `local` for a limit on load, which stops no guessing. Default: it fails closed. */
  readonly failureMode?: 'local'
}

/**
 * The limits of this service: attempts per window, counted by the named identifiers. Sign-in is strict by account and
 * address together; by account alone and by address alone only failures are counted. Past the account's limit an
 * unknown device confirms by mail, so that an attacker can't lock the owner out. Second factors of all kinds share their
 * counts, each known device with its own.
 */
export const attemptLimitPolicies: Readonly<Record<AttemptLimitName, AttemptLimit>> = {
  login: { limit: 10, windowSeconds: 300, by: ['account', 'address'] },
  'login-account': { limit: 100, windowSeconds: 3600, by: ['account'] },
  'login-address': { limit: 100, windowSeconds: 3600, by: ['address'] },
  'login-link': { limit: 5, windowSeconds: 3600, by: ['account', 'address'] },
  factor: { limit: 10, windowSeconds: 900, by: ['account', 'device'] },
  'factor-day': { limit: 50, windowSeconds: 86_400, by: ['account', 'device'] },
  'factor-challenge': { limit: 5, windowSeconds: 900, by: ['challenge'] },
  'passkey-address': { limit: 100, windowSeconds: 3600, by: ['address'], failureMode: 'local' },
  'passkey-challenge': { limit: 600, windowSeconds: 300, by: ['address'], failureMode: 'local' },
  'provider-address': { limit: 600, windowSeconds: 600, by: ['address'], failureMode: 'local' },
  'provider-logout': { limit: 6_000, windowSeconds: 600, by: ['address'], failureMode: 'local' },
  'email-code': { limit: 5, windowSeconds: 3600, by: ['account', 'address'] },
  'email-code-account': { limit: 10, windowSeconds: 3600, by: ['account'] },
  'email-code-address': { limit: 30, windowSeconds: 3600, by: ['address'] },
  'email-code-entry': { limit: 10, windowSeconds: 900, by: ['account', 'address'] },
  'email-code-entry-account': { limit: 20, windowSeconds: 86_400, by: ['account'] },
  'email-code-entry-address': { limit: 50, windowSeconds: 3600, by: ['address'] },
  'phone-code': { limit: 3, windowSeconds: 3600, by: ['account'] },
  'phone-code-day': { limit: 6, windowSeconds: 86_400, by: ['account'] },
  'phone-code-address': { limit: 10, windowSeconds: 3600, by: ['address'] },
  'phone-code-number': { limit: 4, windowSeconds: 86_400, by: ['number'] },
  'phone-code-range': { limit: 20, windowSeconds: 86_400, by: ['range'] },
  'phone-code-entry': { limit: 10, windowSeconds: 900, by: ['account'] },
  'phone-code-entry-day': { limit: 30, windowSeconds: 86_400, by: ['account'] },
  'device-code': { limit: 10, windowSeconds: 600, by: ['user'] },
  'device-code-address': { limit: 30, windowSeconds: 600, by: ['address'] },
  reset: { limit: 3, windowSeconds: 3600, by: ['account'] },
  'reset-address': { limit: 20, windowSeconds: 3600, by: ['address'] },
  registration: { limit: 5, windowSeconds: 3600, by: ['address'], failureMode: 'local' },
  'registration-account': { limit: 3, windowSeconds: 3600, by: ['account'], failureMode: 'local' },
  invitation: { limit: 200, windowSeconds: 3600, by: ['organization'], failureMode: 'local' },
  'invitation-account': { limit: 5, windowSeconds: 3600, by: ['account'], failureMode: 'local' },
  'domain-verification': { limit: 20, windowSeconds: 3600, by: ['organization'], failureMode: 'local' },
  'client-authentication': { limit: 20, windowSeconds: 300, by: ['client', 'address'] },
  'client-authentication-address': { limit: 100, windowSeconds: 300, by: ['address'] },
  'token-client': { limit: 60_000, windowSeconds: 60, by: ['client', 'grant'], failureMode: 'local' },
  'token-address': { limit: 300, windowSeconds: 60, by: ['client', 'grant', 'address'], failureMode: 'local' },
  'introspect-client': { limit: 600_000, windowSeconds: 60, by: ['client'], failureMode: 'local' },
  'revoke-client': { limit: 60_000, windowSeconds: 60, by: ['client'], failureMode: 'local' },
  'revoke-address': { limit: 300, windowSeconds: 60, by: ['address'], failureMode: 'local' },
  'par-client': { limit: 60_000, windowSeconds: 60, by: ['client'], failureMode: 'local' },
  'par-address': { limit: 300, windowSeconds: 60, by: ['address'], failureMode: 'local' },
  'device-client': { limit: 60_000, windowSeconds: 60, by: ['client'], failureMode: 'local' },
  'device-address': { limit: 300, windowSeconds: 60, by: ['address'], failureMode: 'local' },
}

/** Allows everything: the default without a limiter. */
export const unlimited: Limit = async () => ({ allowed: true })

/**
 * Counts an attempt under several policies, in order. @throws PageError 429 with Retry-After at the first that rejects
 * it
 */
export async function enforceLimits(
  limit: Limit,
  checks: readonly (readonly [AttemptLimitName, Readonly<Record<string, string>>])[],
): Promise<void> {
  for (const [policy, identifiers] of checks) {
    const decision = await limit(policy, identifiers)
    if (!decision.allowed) {
      throw new PageError(429, 'error.limited', { 'retry-after': String(decision.retryAfter ?? 60) })
    }
  }
}
