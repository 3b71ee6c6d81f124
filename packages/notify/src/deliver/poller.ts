import { type Clock, isUnavailable, type Log } from '@gatehouse/kit'
import type { Agenda } from '../agenda/agenda.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { Channel } from '../model/channel.ts'
import type { RetryPolicy } from '../model/retry-policy.ts'
import type { ClaimedDelivery, Deliveries } from '../store/store.ts'
import type { ProviderPool } from './provider-pool.ts'

/** What the poller needs. */
export interface PollerOptions {
  readonly channel: Channel
  readonly deliveries: Pick<Deliveries, 'claim'>
  readonly options: Pick<NotifyOptions, 'claimSize' | 'leaseMs'>
  readonly agenda: Agenda
  readonly clock: Clock
  readonly log: Log
}

/** What the poller uses of the worker. */
export interface PollerResources {
  readonly pool: Pick<ProviderPool, 'refresh'>
  readonly policy: Pick<RetryPolicy, 'patienceMs'>
  /** Resolves when more deliveries can be handled. */
  readonly waitForCapacity: () => Promise<void>
}

/** Deliveries that were claimed together. */
export interface Claim {
  /** `overdue`: they waited for a provider as long as they may, and none is available. */
  readonly kind: 'due' | 'overdue'
  readonly deliveries: readonly ClaimedDelivery[]
  /** By `performance.now()`. */
  readonly leaseEndsAt: number
  /** How many were requested at most. */
  readonly limit: number
  /** They are for testing a provider that was failing. */
  readonly isProbe: boolean
}

interface ClaimRange {
  readonly limit: number
  readonly isProbe: boolean
  /** Unix milliseconds. */
  readonly dueBy: number
}

/** How often overdue deliveries are looked for, as a share of the time that they may wait. */
const overdueShare = 0.02

/** Claims the deliveries of a channel. */
export class Poller {
  readonly #settings: PollerOptions
  readonly #resources: PollerResources
  #probeSize = 1
  #overdueCheckedAt = Number.NEGATIVE_INFINITY

  constructor(settings: PollerOptions, resources: PollerResources) {
    this.#settings = settings
    this.#resources = resources
  }

  /** One pass over the buckets that have something due. While no provider is healthy, only what probes one is claimed. */
  async *poll(signal: AbortSignal): AsyncGenerator<Claim> {
    const { agenda, options, clock } = this.#settings
    const { pool, waitForCapacity } = this.#resources
    let hasFound = false
    for (const bucket of agenda.take(clock.now())) {
      await waitForCapacity()
      if (signal.aborted) return
      const capacity = await pool.refresh()
      if (capacity.kind === 'none') return yield* this.#pollOverdue(capacity.since)
      const isProbe = capacity.kind === 'probe'
      const limit = isProbe ? this.#probeSize : options.claimSize
      const claim = await this.#claimOrBackOff(bucket, { limit, isProbe, dueBy: clock.now() })
      if (!claim) continue
      if (claim.deliveries.length === 0) agenda.visited([bucket])
      else {
        agenda.visited([bucket], clock.now())
        hasFound = true
        yield claim
      }
      if (isProbe && hasFound) return
    }
  }

  /**
   * Adjusts the size of the next probe to the number of calls that a claim led to. A probe claims one delivery; where that
   * is for a provider that can't be probed yet, the next one claims twice as many, to find one for another provider.
   */
  adjustProbe({ kind, limit, isProbe }: Claim, calls: number): void {
    if (kind === 'overdue') return
    this.#probeSize = calls > 0 || !isProbe ? 1 : Math.min(limit * 2, this.#settings.options.claimSize)
  }

  /** Claims what waited as long as it may, where no provider has been available since `since` (Unix milliseconds). */
  async *#pollOverdue(since: number): AsyncGenerator<Claim> {
    const { agenda, options, clock } = this.#settings
    const { policy, waitForCapacity } = this.#resources
    const now = clock.now()
    const dueBy = now - policy.patienceMs
    if (dueBy < since || now - this.#overdueCheckedAt < policy.patienceMs * overdueShare) return
    let hasFound = false
    for (const bucket of agenda.buckets) {
      await waitForCapacity()
      const claim = await this.#claim(bucket, 'overdue', { limit: options.claimSize, isProbe: false, dueBy })
      if (claim.deliveries.length === 0) continue
      hasFound = true
      yield claim
    }
    if (!hasFound) this.#overdueCheckedAt = now
  }

  /** A bucket whose claim fails backs off, and the others go on. @throws when the database is unavailable */
  async #claimOrBackOff(bucket: number, range: ClaimRange): Promise<Claim | undefined> {
    const { agenda, channel, log } = this.#settings
    try {
      return await this.#claim(bucket, 'due', range)
    } catch (error) {
      if (isUnavailable(error)) throw error
      agenda.failed(bucket)
      log.error({ err: error, channel, bucket }, 'deliveries of a bucket could not be claimed; it backs off')
      return undefined
    }
  }

  async #claim(bucket: number, kind: Claim['kind'], { limit, isProbe, dueBy }: ClaimRange): Promise<Claim> {
    const { channel, deliveries, options } = this.#settings
    const leaseEndsAt = performance.now() + options.leaseMs
    const claimed = await deliveries.claim(bucket, channel, limit, options.leaseMs, dueBy)
    return { kind, deliveries: claimed, leaseEndsAt, limit, isProbe }
  }
}
