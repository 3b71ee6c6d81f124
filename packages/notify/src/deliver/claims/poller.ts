import type { Clock, Log } from '@gatehouse/kit'
import type { Agenda } from '../../agenda/agenda.ts'
import type { NotifyOptions } from '../../config/options.ts'
import type { Channel } from '../../model/channel.ts'
import type { RetryPolicy } from '../../model/delivery/retry-policy.ts'
import type { BucketErrors, ClaimedDelivery, ClaimResult, Deliveries } from '../../store/store.ts'
import type { ProviderPool } from '../providers/provider-pool.ts'
import { claimByHalves } from './claim-halves.ts'
import type { HandoverQueue } from './handover-queue.ts'

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
  readonly handover: Pick<HandoverQueue, 'open' | 'close' | 'take' | 'releaseAll'>
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
  /** From before the claim was made; by `performance.now()`. */
  readonly claimedAt: number
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

  /**
   * One pass: what was handed over, then what is due in the buckets that are to be visited. While no provider is healthy,
   * only what probes one is claimed, and nothing is handed over.
   */
  async *poll(signal: AbortSignal): AsyncGenerator<Claim> {
    const { agenda, options, clock } = this.#settings
    const { pool, handover, waitForCapacity } = this.#resources
    await waitForCapacity()
    if (signal.aborted) return
    const capacity = await pool.refresh()
    if (capacity.kind !== 'all') {
      handover.close()
      handover.releaseAll()
    }
    if (capacity.kind === 'none') return yield* this.#pollOverdue(capacity.since)
    const isProbe = capacity.kind === 'probe'
    const handed = handover.take(options.claimSize)
    if (handed) {
      yield { ...handed, kind: 'due', limit: options.claimSize, isProbe: false }
      await waitForCapacity()
      if (signal.aborted) return
    }
    const now = clock.now()
    const buckets = agenda.take(now)
    if (buckets.length === 0) {
      // Nothing is known to be due, so that nothing older waits for what is handed over.
      if (!isProbe) handover.open()
      return
    }
    const limit = isProbe ? this.#probeSize : options.claimSize
    const { claim, isMore } = await this.#claim(buckets, 'due', { limit, isProbe, dueBy: now })
    // What is due by now and was not claimed is older than whatever would be handed over.
    if (isProbe || isMore) handover.close()
    else handover.open()
    if (claim.deliveries.length > 0) yield claim
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
    await waitForCapacity()
    const { claim } = await this.#claim(agenda.buckets, 'overdue', { limit: options.claimSize, isProbe: false, dueBy })
    if (claim.deliveries.length > 0) yield claim
    else this.#overdueCheckedAt = now
  }

  /** Claims from buckets, and says whether more may be due in them. Those that fail are visited again later. */
  async #claim(
    buckets: readonly number[],
    kind: Claim['kind'],
    { limit, isProbe, dueBy }: ClaimRange,
  ): Promise<{ readonly claim: Claim; readonly isMore: boolean }> {
    const { channel, deliveries, options } = this.#settings
    const claimedAt = performance.now()
    const request = { buckets, channel, limit, leaseMs: options.leaseMs, now: dueBy }
    const result = await claimByHalves(deliveries, request)
    if (kind === 'due') this.#noteVisited(buckets, result)
    this.#reportFailed(result.failed)
    const isMore = [...result.nextDueAt.values()].some((dueAt) => dueAt <= dueBy)
    const leaseEndsAt = claimedAt + options.leaseMs
    return { claim: { kind, deliveries: result.deliveries, claimedAt, leaseEndsAt, limit, isProbe }, isMore }
  }

  /** Those that failed are left to {@link reportFailed}, the others are visited again as their next delivery is due. */
  #noteVisited(buckets: readonly number[], { failed, nextDueAt }: ClaimResult): void {
    const visited = buckets.filter((bucket) => !failed.has(bucket))
    for (const [dueAt, mine] of Map.groupBy(visited, (bucket) => nextDueAt.get(bucket)))
      this.#settings.agenda.visited(mine, dueAt)
  }

  #reportFailed(failed: BucketErrors): void {
    const { agenda, channel, log } = this.#settings
    for (const bucket of failed.keys()) agenda.failed(bucket)
    const [first] = failed
    if (!first) return
    const [bucket, err] = first
    log.error({ err, channel, bucket, buckets: failed.size }, 'deliveries of some buckets could not be claimed')
  }
}
