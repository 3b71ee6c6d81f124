import { PageError } from './pages/page-error.ts'

/** What the limiter answers. */
export interface GuardDecision {
  readonly allowed: boolean
  /** Whole seconds to wait. */
  readonly retryAfter?: number | undefined
}

/** One check: the policy's name, and who is counted. */
export type Limit = (policy: GuardName, identifiers: Readonly<Record<string, string>>) => Promise<GuardDecision>

/** Forgets what a policy has counted by these identifiers. */
export type Forgive = (policy: GuardName, identifiers: Readonly<Record<string, string>>) => Promise<void>

export type GuardName =
  | 'login'
  | 'login-account'
  | 'device-code'
  | 'device-code-address'
  | 'reset'
  | 'reset-address'
  | 'registration'
  | 'registration-account'
  | 'token-client'
  | 'token-address'

/**
 * The policies that guard this service: so many attempts in so many seconds, counted by the identifiers named. The login
 * ones are strict on account and address together and loose on the account alone, so that nobody locks others out.
 */
export const guardPolicies: Readonly<
  Record<GuardName, { readonly limit: number; readonly windowSeconds: number; readonly by: readonly string[] }>
> = {
  login: { limit: 10, windowSeconds: 300, by: ['account', 'address'] },
  'login-account': { limit: 100, windowSeconds: 3600, by: ['account'] },
  'device-code': { limit: 10, windowSeconds: 600, by: ['user'] },
  'device-code-address': { limit: 30, windowSeconds: 600, by: ['address'] },
  reset: { limit: 3, windowSeconds: 3600, by: ['account'] },
  'reset-address': { limit: 20, windowSeconds: 3600, by: ['address'] },
  registration: { limit: 5, windowSeconds: 3600, by: ['address'] },
  'registration-account': { limit: 3, windowSeconds: 3600, by: ['account'] },
  'token-client': { limit: 60_000, windowSeconds: 60, by: ['client', 'grant'] },
  'token-address': { limit: 300, windowSeconds: 60, by: ['client', 'grant', 'address'] },
}

/** Lets everything through: for when no limiter is handed in. */
export const unlimited: Limit = async () => ({ allowed: true })

/** Asks the guards in turn. @throws PageError 429 with Retry-After at the first that says no */
export async function pass(
  limit: Limit,
  checks: readonly (readonly [GuardName, Readonly<Record<string, string>>])[],
): Promise<void> {
  for (const [policy, identifiers] of checks) {
    const decision = await limit(policy, identifiers)
    if (!decision.allowed) {
      throw new PageError(429, 'error.limited', { 'retry-after': String(decision.retryAfter ?? 60) })
    }
  }
}
