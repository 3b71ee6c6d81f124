import { PageError } from '../pages/page-error.ts'

/** What the limiter answers. */
export interface AttemptDecision {
  readonly allowed: boolean
  /** Whole seconds to wait. */
  readonly retryAfter?: number | undefined
}

/** One check: the policy's name, and who is counted. */
export type Limit = (
  policy: AttemptLimitName,
  identifiers: Readonly<Record<string, string>>,
) => Promise<AttemptDecision>

/** Takes back one attempt that a policy has counted by these identifiers, since it was right. */
export type Refund = (policy: AttemptLimitName, identifiers: Readonly<Record<string, string>>) => Promise<void>

/** Whole seconds for which attempts by these identifiers are known to be rejected, without asking anybody; 0 for none. */
export type Blocked = (policy: AttemptLimitName, identifiers: Readonly<Record<string, string>>) => number

/** Forgets what a policy has counted by these identifiers. */
export type Forgive = (policy: AttemptLimitName, identifiers: Readonly<Record<string, string>>) => Promise<void>

export type AttemptLimitName =
  | 'login'
  | 'login-account'
  | 'login-address'
  | 'login-link'
  | 'device-code'
  | 'device-code-address'
  | 'reset'
  | 'reset-address'
  | 'registration'
  | 'registration-account'
  | 'client-authentication'
  | 'client-authentication-address'
  | 'token-client'
  | 'token-address'
  | 'introspect-client'
  | 'revoke-client'
  | 'revoke-address'
  | 'par-client'
  | 'par-address'

/**
 * The limits of this service: so many attempts in so many seconds, counted by the identifiers named. Those of signing in
 * are strict on account and address together, and count failures alone by the account and by the address: past the
 * account's an unknown device confirms by mail, so that nobody locks others out.
 */
export const attemptLimitPolicies: Readonly<
  Record<AttemptLimitName, { readonly limit: number; readonly windowSeconds: number; readonly by: readonly string[] }>
> = {
  login: { limit: 10, windowSeconds: 300, by: ['account', 'address'] },
  'login-account': { limit: 100, windowSeconds: 3600, by: ['account'] },
  'login-address': { limit: 100, windowSeconds: 3600, by: ['address'] },
  'login-link': { limit: 5, windowSeconds: 3600, by: ['account', 'address'] },
  'device-code': { limit: 10, windowSeconds: 600, by: ['user'] },
  'device-code-address': { limit: 30, windowSeconds: 600, by: ['address'] },
  reset: { limit: 3, windowSeconds: 3600, by: ['account'] },
  'reset-address': { limit: 20, windowSeconds: 3600, by: ['address'] },
  registration: { limit: 5, windowSeconds: 3600, by: ['address'] },
  'registration-account': { limit: 3, windowSeconds: 3600, by: ['account'] },
  'client-authentication': { limit: 20, windowSeconds: 300, by: ['client', 'address'] },
  'client-authentication-address': { limit: 100, windowSeconds: 300, by: ['address'] },
  'token-client': { limit: 60_000, windowSeconds: 60, by: ['client', 'grant'] },
  'token-address': { limit: 300, windowSeconds: 60, by: ['client', 'grant', 'address'] },
  'introspect-client': { limit: 600_000, windowSeconds: 60, by: ['client'] },
  'revoke-client': { limit: 60_000, windowSeconds: 60, by: ['client'] },
  'revoke-address': { limit: 300, windowSeconds: 60, by: ['address'] },
  'par-client': { limit: 60_000, windowSeconds: 60, by: ['client'] },
  'par-address': { limit: 300, windowSeconds: 60, by: ['address'] },
}

/** Lets everything through: for when no limiter is handed in. */
export const unlimited: Limit = async () => ({ allowed: true })

/** Asks the guards in turn. @throws PageError 429 with Retry-After at the first that says no */
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
