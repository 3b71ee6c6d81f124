import { type Acr, acrOf, isAtLeast, multiFactorAcr, singleFactorAcr } from './authentication.ts'

/** What a user can have enrolled beside the first way to sign in. A passkey is both factors in one. */
export type FactorKind = 'totp' | 'passkey'

/** Every policy, the most lenient first. Whatever it is, a user who has a factor is asked for it. */
export const mfaPolicies = ['off', 'optional', 'required'] as const
/** Whether users may, or must, have a second factor. */
export type MfaPolicy = (typeof mfaPolicies)[number]

/** The strictest of the policies that apply together: of the instance, of organizations, of a client. */
export function strictestPolicy(policies: readonly (MfaPolicy | undefined)[]): MfaPolicy {
  return mfaPolicies.findLast((policy) => policies.includes(policy)) ?? 'off'
}

/** What a user has to do beyond what they proved: use a factor, or enrol the first one. */
export type FactorStep = 'factor' | 'enrol'

/** What the choice of the step depends on. */
export interface FactorSituation {
  /** The methods that were used (RFC 8176). */
  readonly amr: readonly string[]
  /** Whether a remembered device stood in for the factor. */
  readonly remembered: boolean
  /** What the user has enrolled. */
  readonly factors: readonly FactorKind[]
  readonly policy: MfaPolicy
  /** Whether an administrator reset the user's factors: the next sign-in enrols one, whatever the policy. */
  readonly mustEnrol?: boolean
}

/** What is missing, or undefined when nothing is. */
export function chooseFactorStep(situation: FactorSituation): FactorStep | undefined {
  const { amr, remembered, factors, policy, mustEnrol = false } = situation
  if (amr.includes('mfa')) return undefined
  if (factors.length > 0) return remembered ? undefined : 'factor'
  return mustEnrol || policy === 'required' ? 'enrol' : undefined
}

/** The class that the strongest factor reaches. */
export function strongestAcr(factors: readonly FactorKind[]): Acr {
  if (factors.includes('passkey')) return 'phr'
  return factors.length > 0 ? multiFactorAcr : singleFactorAcr
}

/**
 * Whether a sign-in suffices to change factors: it is as strong as the strongest of them, so that nobody replaces a
 * factor by a weaker one. A recovery code counts, because it is for users who have lost a factor.
 */
export function mayManageFactors(amr: readonly string[], factors: readonly FactorKind[]): boolean {
  return amr.includes('recovery') || isAtLeast(acrOf(amr), strongestAcr(factors))
}
