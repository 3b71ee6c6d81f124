import { type Acr, acrOf, acrValues, meetsAcr, multiFactorAcr, singleFactorAcr } from '../authentication.ts'

/** What a user can have enrolled beside the first way to sign in. A passkey is both factors in one. */
export type FactorKind = 'totp' | 'passkey'

/** The factors that can be asked for: a passkey only where passkeys are switched on. */
export function usableFactors(
  factors: readonly FactorKind[],
  { passkeys }: { readonly passkeys: boolean },
): readonly FactorKind[] {
  return passkeys ? factors : factors.filter((kind) => kind !== 'passkey')
}

/** Every policy, the most lenient first. Whatever it is, a user who has a factor is asked for it. */
export const mfaPolicies = ['off', 'optional', 'required'] as const
/** Whether users may, or must, have a second factor. */
export type MfaPolicy = (typeof mfaPolicies)[number]

/** The strictest of the policies that apply together: of the instance, of organizations, of a client. */
export function strictestPolicy(policies: readonly (MfaPolicy | undefined)[]): MfaPolicy {
  return mfaPolicies.findLast((policy) => policies.includes(policy)) ?? 'off'
}

/** Whether a grant has the second factor that policies require: one was used, or a remembered device stood in for it. */
export function hasRequiredFactor(
  { amr, remembered }: Pick<FactorSituation, 'amr' | 'remembered'>,
  policies: readonly (MfaPolicy | undefined)[],
): boolean {
  return strictestPolicy(policies) !== 'required' || remembered || amr.includes('mfa')
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

/**
 * What is missing, or undefined when nothing is. An authenticator app is a second step, and so it is always asked for. A
 * passkey is another way to sign in, beside the password: it is asked for after one where two factors are required.
 */
export function chooseFactorStep(situation: FactorSituation): FactorStep | undefined {
  const { amr, remembered, factors, policy, mustEnrol = false } = situation
  if (amr.includes('mfa')) return undefined
  if (factors.includes('totp')) return remembered ? undefined : 'factor'
  if (mustEnrol) return 'enrol'
  if (policy !== 'required') return undefined
  if (factors.length === 0) return 'enrol'
  return remembered ? undefined : 'factor'
}

/** The class that the strongest factor reaches. */
function strongestAcr(factors: readonly FactorKind[]): Acr {
  if (factors.includes('passkey')) return 'phr'
  return factors.length > 0 ? multiFactorAcr : singleFactorAcr
}

/**
 * Whether a sign-in suffices to change how the user signs in: whoever has a factor uses one, so that nobody who learned a
 * password alone adds a factor of their own. A recovery code counts, because it is for users who have lost a factor.
 */
export function mayManageFactors(amr: readonly string[], factors: readonly FactorKind[]): boolean {
  return amr.includes('mfa') || factors.length === 0
}

/** A level that a request wants of a sign-in, and what the user can do about it. */
export interface LevelSituation extends FactorSituation {
  /** The classes that the client asks for, and whether one of them is essential. */
  readonly wanted: { readonly essential: boolean; readonly values: readonly Acr[] } | undefined
  /** Whether the user signed in for this very request: then another sign-in would change nothing. */
  readonly signedInForIt: boolean
}

/**
 * What a session lacks for a request: `factor` or `enrol` for a second factor, `login` for a stronger first way; or
 * `unmet` when an essential class is out of reach. A class that is only preferred never forces an enrolment.
 */
export function chooseLevelStep(situation: LevelSituation): FactorStep | 'login' | 'unmet' | undefined {
  const { amr, factors, policy, wanted, signedInForIt } = situation
  const missing = chooseFactorStep(situation)
  const target = wanted && chooseTarget(wanted, factors, policy)
  if (target === 'unmet') return 'unmet'
  if (target === undefined || meetsAcr(acrOf(amr), target)) return missing
  if (target === multiFactorAcr) return factors.length > 0 ? 'factor' : 'enrol'
  if (!signedInForIt) return 'login'
  return wanted?.essential ? 'unmet' : missing
}

/** The class to reach: the weakest essential one, or the preferred one of those that the user's factors can reach. */
function chooseTarget(
  { essential, values }: NonNullable<LevelSituation['wanted']>,
  factors: readonly FactorKind[],
  policy: MfaPolicy,
): Acr | 'unmet' | undefined {
  const reachable = (acr: Acr, best: Acr) => meetsAcr(best, acr)
  const own = strongestAcr(factors) === 'phr' ? 'phrh' : strongestAcr(factors)
  if (!essential) return values.find((acr) => reachable(acr, own))
  const weakest = acrValues.find((acr) => values.includes(acr))
  const mayEnrol = policy !== 'off' && !meetsAcr(own, multiFactorAcr)
  return weakest !== undefined && reachable(weakest, mayEnrol ? multiFactorAcr : own) ? weakest : 'unmet'
}
