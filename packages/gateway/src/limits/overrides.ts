import type { Clock } from '@gatehouse/kit'
import type { CountedRule, Identifier, Policy } from '@gatehouse/limiter'
import { countedAddress, parseAddress } from '../model/address.ts'
import type { LimitOverride } from '../model/limit-feed.ts'

/** Applies overrides to what counts in place of, or as, the tier of a caller. */
export class Overrides {
  readonly #clock: Clock
  readonly #find: (name: string) => Policy | undefined
  #current = new Map<string, LimitOverride>()
  /** Scaled policies by factor: a policy must stay the same object, since its combinations are cached by it. */
  #scaled = new WeakMap<Policy, Map<number, Policy>>()

  /** @param find a tier or policy by name; undefined for none */
  constructor(clock: Clock, find: (name: string) => Policy | undefined) {
    this.#clock = clock
    this.#find = find
  }

  /** Replaces all overrides. */
  set(overrides: readonly LimitOverride[]): void {
    this.#current = new Map(overrides.map((one) => [keyOf(one.kind, normalizeId(one)), one]))
  }

  /** The override of this identifier. It ends at its time, whoever can be reached. */
  find(identifier: Identifier): LimitOverride | undefined {
    if (this.#current.size === 0) return undefined
    const override = this.#current.get(keyOf(identifier.kind, identifier.id))
    return override === undefined || override.until <= this.#clock.now() ? undefined : override
  }

  /** What counts for this identifier in place of `policy`. */
  apply(identifier: Identifier, policy: Policy): Policy {
    const override = this.find(identifier)
    if (override === undefined) return policy
    if (override.policy !== undefined) return this.#find(override.policy) ?? policy
    return override.factor === undefined ? policy : this.#scale(policy, override.factor)
  }

  #scale(policy: Policy, factor: number): Policy {
    const byFactor = this.#scaled.get(policy) ?? new Map<number, Policy>()
    this.#scaled.set(policy, byFactor)
    const scaled = byFactor.get(factor) ?? scalePolicy(policy, factor)
    byFactor.set(factor, scaled)
    return scaled
  }
}

const keyOf = (kind: string, id: string) => `${kind} ${id}`

/** An address counts as requests from it do, IPv6 by its /64. */
function normalizeId({ kind, id }: LimitOverride): string {
  const address = kind === 'ip' ? parseAddress(id) : undefined
  return address ? countedAddress(address) : id
}

const maxLimit = 2 ** 31 - 1

/** A policy with every limit multiplied, at least one for each shard. Its rules keep their names and counters. */
export function scalePolicy(policy: Policy, factor: number): Policy {
  const { shards, rules } = policy
  const scaleRule = (rule: CountedRule): CountedRule => {
    const maxOfShard = Math.floor(maxLimit / shards)
    const limit = Math.min(maxOfShard, Math.max(1, Math.round((rule.limit * factor) / shards))) * shards
    return Object.freeze({ ...rule, limit, refillPerMs: rule.refillPerMs * (limit / rule.limit) })
  }
  return Object.freeze({ ...policy, rules: Object.freeze(rules.map(scaleRule)) })
}
