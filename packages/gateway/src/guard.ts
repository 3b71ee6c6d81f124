import { tokenHash } from '@gatehouse/kit'
import type { Identifier, Limiter } from '@gatehouse/limiter'
import { countedAddress, parseAddress } from './address.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { Policies } from './policies.ts'

/** A guard's answer. */
interface Guarded {
  readonly allowed: boolean
  /** Whole seconds to wait; 0 when allowed. */
  readonly retryAfter: number
}

/**
 * Counts one try against a policy, by all identifiers together: `{ account, address }`. An `address` is counted as
 * requests from it are, IPv6 by its /64. Rejects with RangeError when there is no policy of that name.
 */
export type Limit = (policy: string, identifiers: Readonly<Record<string, string>>) => Promise<Guarded>

/** Forgets the tries counted against a policy by these identifiers, since one of them was right. */
export type Forgive = (policy: string, identifiers: Readonly<Record<string, string>>) => Promise<void>

const longestId = 255

/** The guard that services are handed for what a route's own limit can't see. */
export function createLimit(limiter: Limiter, policies: Policies, metrics: GatewayMetrics): Limit {
  return async (name, identifiers) => {
    const decision = await limiter.check(policies.named(name), identifierOf(identifiers), { route: name })
    metrics.decided(name, decision)
    return { allowed: decision.allowed, retryAfter: decision.retryAfterSeconds }
  }
}

export function createForgive(limiter: Limiter, policies: Policies): Forgive {
  return async (name, identifiers) => limiter.reset(policies.named(name), identifierOf(identifiers))
}

function identifierOf(identifiers: Readonly<Record<string, string>>): Identifier {
  const entries = Object.entries(identifiers).sort(([a], [b]) => (a < b ? -1 : 1))
  const id = entries.map(([name, value]) => encodeURIComponent(counted(name, value.toWellFormed()))).join('|')
  return {
    kind: entries.map(([name]) => name).join('-'),
    id: id.length <= longestId ? id : `sha256:${tokenHash(id)}`,
  }
}

function counted(name: string, value: string): string {
  const address = name === 'address' ? parseAddress(value) : undefined
  return address ? countedAddress(address) : value
}
