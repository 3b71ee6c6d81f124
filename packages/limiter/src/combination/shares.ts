import type { Policy } from '../policy.ts'
import { combinePolicies, partsOf } from './combine.ts'

/** Some policies of a combination, which are counted in one step. */
export interface Share {
  readonly policy: Policy
  /** The places of its rules among those of the whole combination. */
  readonly places: readonly number[]
}

/** Groups the policies of a combination by `keyOf`; groups come in the order of their first policies. */
export function divideIntoShares(whole: Policy, keyOf: (part: Policy) => unknown): readonly Share[] {
  const groups = new Map<unknown, { policies: Policy[]; places: number[] }>()
  let place = 0
  for (const part of partsOf(whole)) {
    const key = keyOf(part)
    const group = groups.get(key) ?? { policies: [], places: [] }
    groups.set(key, group)
    group.policies.push(part)
    for (let i = 0; i < part.rules.length; i++) group.places.push(place++)
  }
  return [...groups.values()].map(({ policies, places }) => ({ policy: combinePolicies(policies), places }))
}

const bySubject = new WeakMap<Policy, readonly Share[]>()

/** A combination divided into policies that count the caller and policies that count all identifiers together. */
export function subjectShares(whole: Policy): readonly Share[] {
  let found = bySubject.get(whole)
  if (found === undefined) {
    found = divideIntoShares(whole, ({ shared }) => shared)
    bySubject.set(whole, found)
  }
  return found
}

const byMode = new WeakMap<Policy, readonly Share[]>()

/** The policies of a combination that fail closed, as one share; empty where there are none. */
export function closedShares(whole: Policy): readonly Share[] {
  if (whole.failureMode !== 'closed') return []
  let found = byMode.get(whole)
  if (found === undefined) {
    found = divideIntoShares(whole, ({ failureMode }) => failureMode === 'closed').filter(
      ({ policy }) => policy.failureMode === 'closed',
    )
    byMode.set(whole, found)
  }
  return found
}

/** Whether a policy has rules that count all identifiers together beside others. */
export function isMixed(policy: Policy): boolean {
  return policy.parts !== undefined && subjectShares(policy).length > 1
}
