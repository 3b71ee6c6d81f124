import { tokenHash } from '@gatehouse/kit'
import type { Identifier, Limiter } from '@gatehouse/limiter'
import type { Activity } from '../activity/activity.ts'
import type { GatewayMetrics } from '../metrics/gateway-metrics.ts'
import { countedAddress, parseAddress } from '../model/address.ts'
import type { AttemptBlocks } from '../model/attempt-blocks.ts'
import type { Policies } from './policies.ts'

/** The result of one attempt. */
interface AttemptDecision {
  readonly allowed: boolean
  /** Whole seconds to wait; 0 when allowed. */
  readonly retryAfter: number
}

/**
 * Counts one attempt against a policy, by all identifiers together: `{ account, address }`. An `address` counts as
 * requests from it do, IPv6 by its /64. Rejects with RangeError when there is no policy of that name.
 */
export type Limit = (policy: string, identifiers: Readonly<Record<string, string>>) => Promise<AttemptDecision>

/** Takes back one counted attempt of these identifiers, because it succeeded. */
export type Refund = (policy: string, identifiers: Readonly<Record<string, string>>) => Promise<void>

/**
 * Whole seconds for which attempts of these identifiers are known to be rejected; else 0. The counter store is asked only
 * whether a known rejection still lasts, every 5 s at most.
 */
export type Blocked = (policy: string, identifiers: Readonly<Record<string, string>>) => Promise<number>

/** Resets the count of these identifiers, because an attempt succeeded. */
export type Forgive = (policy: string, identifiers: Readonly<Record<string, string>>) => Promise<void>

const maxIdLength = 255

/** Attempt limits, for services to count what a route's limit cannot. */
export interface AttemptLimits {
  readonly limit: Limit
  readonly refund: Refund
  readonly blocked: Blocked
  readonly forgive: Forgive
}

interface AttemptLimitsOptions {
  readonly limiter: Limiter
  readonly policies: Policies
  readonly metrics: GatewayMetrics
  readonly activity: Activity
  readonly blocks: AttemptBlocks
}

/** Attempt limits in the counter store. Rejections are cached in this process. */
export function createAttemptLimits(options: AttemptLimitsOptions): AttemptLimits {
  const { limiter, policies, metrics, activity, blocks } = options
  const limit: Limit = async (name, identifiers) => {
    const identifier = identifierOf(identifiers)
    const decision = await limiter.check(policies.get(name), identifier, { route: name })
    blocks.set(name, identifier, decision.retryAfterSeconds)
    metrics.recordDecision(name, decision)
    activity.record(decision, { route: name, identifier })
    return { allowed: decision.allowed, retryAfter: decision.retryAfterSeconds }
  }
  const blocked: Blocked = async (name, identifiers) => {
    const identifier = identifierOf(identifiers)
    const seconds = blocks.secondsOf(name, identifier)
    if (seconds === 0 || !blocks.takeReading(name, identifier)) return seconds
    const { retryAfterSeconds } = await limiter.peek(policies.get(name), identifier)
    blocks.set(name, identifier, retryAfterSeconds)
    return retryAfterSeconds
  }
  return {
    limit,
    async refund(name, identifiers) {
      const identifier = identifierOf(identifiers)
      await limiter.grant(policies.get(name), identifier, 1)
      blocks.delete(name, identifier)
    },
    blocked,
    async forgive(name, identifiers) {
      const identifier = identifierOf(identifiers)
      await limiter.reset(policies.get(name), identifier)
      blocks.delete(name, identifier)
    },
  }
}

function identifierOf(identifiers: Readonly<Record<string, string>>): Identifier {
  const entries = Object.entries(identifiers).sort(([a], [b]) => (a < b ? -1 : 1))
  const id = entries.map(([name, value]) => encodeURIComponent(normalizeValue(name, value.toWellFormed()))).join('|')
  return {
    kind: entries.map(([name]) => name).join('-'),
    id: id.length <= maxIdLength ? id : `sha256:${tokenHash(id)}`,
  }
}

function normalizeValue(name: string, value: string): string {
  const address = name === 'address' ? parseAddress(value) : undefined
  return address ? countedAddress(address) : value
}
