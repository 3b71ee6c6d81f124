import type { Identifier, Policy } from '@gatehouse/limiter'
import type { Limits } from '../config/limits.ts'
import type { LimitOverride } from '../model/limit-feed.ts'

/** The limits that requests are checked against, as operators read them. */
export interface AppliedLimits {
  /** The current limits. */
  limits(): Limits
  /** The tier of a user or client; undefined for other callers. */
  tierOf(identifier: Identifier): Promise<string | undefined>
  /** The policy that counts a client in place of its tier. */
  clientPolicyOf(identifier: Identifier): string | undefined
  /** The override of a caller. */
  overrideOf(identifier: Identifier): LimitOverride | undefined
  /** What counts for a caller in place of a tier, or of a policy that stands for one. */
  inPlaceOf(policy: Policy, identifier: Identifier): Policy
}
