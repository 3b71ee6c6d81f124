import { type Clock, tokenHash } from '@gatehouse/kit'
import type { Identifier, Limiter } from '@gatehouse/limiter'
import type { Activity } from '../activity/activity.ts'
import type { GatewayMetrics } from '../metrics/gateway-metrics.ts'
import { countedAddress, parseAddress } from '../model/address.ts'
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

/** Whole seconds for which attempts of these identifiers are known to be rejected, without a store request; else 0. */
export type Blocked = (policy: string, identifiers: Readonly<Record<string, string>>) => number

/** Resets the count of these identifiers, because an attempt succeeded. */
export type Forgive = (policy: string, identifiers: Readonly<Record<string, string>>) => Promise<void>

const maxIdLength = 255
const maxBlocks = 10_000

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
  readonly clock: Clock
}

/** Attempt limits in the counter store. Rejections are cached in this process. */
export function createAttemptLimits(options: AttemptLimitsOptions): AttemptLimits {
  const { limiter, policies, metrics, activity, clock } = options
  const blocks = new Map<string, number>()
  const setBlock = (key: string, seconds: number): void => {
    blocks.delete(key)
    if (seconds === 0) return
    blocks.set(key, clock.now() + seconds * 1_000)
    const [oldest] = blocks.keys()
    if (blocks.size > maxBlocks && oldest !== undefined) blocks.delete(oldest)
  }
  const limit: Limit = async (name, identifiers) => {
    const identifier = identifierOf(identifiers)
    const decision = await limiter.check(policies.get(name), identifier, { route: name })
    setBlock(blockKey(name, identifier), decision.retryAfterSeconds)
    metrics.recordDecision(name, decision)
    activity.record(decision, { route: name, identifier })
    return { allowed: decision.allowed, retryAfter: decision.retryAfterSeconds }
  }
  const blockedSeconds: Blocked = (name, identifiers) => {
    const until = blocks.get(blockKey(name, identifierOf(identifiers))) ?? 0
    return Math.max(0, Math.ceil((until - clock.now()) / 1_000))
  }
  return {
    limit,
    async refund(name, identifiers) {
      const identifier = identifierOf(identifiers)
      await limiter.grant(policies.get(name), identifier, 1)
      blocks.delete(blockKey(name, identifier))
    },
    blocked: blockedSeconds,
    async forgive(name, identifiers) {
      const identifier = identifierOf(identifiers)
      await limiter.reset(policies.get(name), identifier)
      blocks.delete(blockKey(name, identifier))
    },
  }
}

const blockKey = (policy: string, { kind, id }: Identifier): string => `${policy} ${kind} ${id}`

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
