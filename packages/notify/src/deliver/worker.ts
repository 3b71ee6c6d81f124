import { type Clock, type Log, startWorker, type Worker } from '@gatehouse/kit'
import type { Channel } from '../channel.ts'
import { createGatherer } from '../gather.ts'
import type { NotifyMetrics } from '../metrics.ts'
import type { NotifyOptions } from '../options.ts'
import type { Provider } from '../providers/provider.ts'
import type { ClaimedDelivery, Deliveries, TryRecord } from '../store.ts'
import { judge, mostCrashes, quarantine, type TargetResult } from './outcome.ts'
import { callProvider, outgoing } from './send.ts'
import { createSlots } from './slots.ts'

export interface ChannelWorkerOptions {
  readonly channel: Channel
  readonly providers: readonly Provider[]
  readonly deliveries: Deliveries
  readonly buckets: readonly number[]
  readonly options: NotifyOptions
  readonly clock: Clock
  readonly log: Log
  readonly metrics: NotifyMetrics
  /** Told when a delivery may have fallen back to another channel, so that its worker need not wait. */
  readonly onFallback: () => void
}

/**
 * The worker of one channel: claims due deliveries, calls the provider for each target, stores what came of it. Calls
 * are spread over the channel's slots and recorded together as they end, so that a slow one holds up no other.
 */
export function startChannelWorker(settings: ChannelWorkerOptions): Worker {
  const { channel, deliveries, options, clock, metrics } = settings
  const slots = createSlots(options.concurrency[channel])
  const policy = { attempts: channel === 'push' ? options.pushAttempts : options.attempts, backoff: options.backoff }
  const recorder = createGatherer<TryRecord, true>(
    async (records) => {
      for (const [bucket, mine] of Map.groupBy(records, ({ claimed }) => claimed.bucket))
        await deliveries.record(bucket, mine)
      if (records.some(({ next }) => next.kind === 'dead' && next.fallback)) settings.onFallback()
      return records.map(() => true)
    },
    { most: options.claimSize, lanes: 2, mostWaiting: Number.POSITIVE_INFINITY },
  )

  const keep = (record: TryRecord) => {
    metrics.attempts.inc({ channel, result: record.what })
    return recorder.do(record)
  }

  const deliver = async (claimed: readonly ClaimedDelivery[], provider: Provider, leaseEndsAt: number) => {
    if (performance.now() + provider.timeoutMs >= leaseEndsAt) return giveBack(claimed)
    const messages = claimed.flatMap((each) => each.message.targets.map((target) => outgoing(each, target)))
    const stop = metrics.providerSeconds.startTimer({ provider: provider.name })
    const answers = await callProvider(provider, messages)
    stop()
    let next = 0
    await Promise.all(
      claimed.map((each) => {
        const results = each.message.targets.map((target): TargetResult => {
          const result = answers[next++] ?? { kind: 'ambiguous', reason: 'the provider left it out' }
          return { target, provider: provider.name, result }
        })
        return keep(judge(each, results, policy, clock.now(), Math.random()))
      }),
    )
  }

  const giveBack = async (claimed: readonly ClaimedDelivery[]) => {
    for (const [bucket, mine] of Map.groupBy(claimed, (each) => each.bucket))
      await deliveries.release(bucket, mine, clock.now())
  }

  const pass = async (): Promise<boolean> => {
    let found = false
    for (const bucket of settings.buckets) {
      await slots.someFree()
      const leaseEndsAt = performance.now() + options.leaseMs
      const claimed = await deliveries.claim(bucket, channel, options.claimSize, options.leaseMs, clock.now())
      if (claimed.length === 0) continue
      found = true
      const [poisonous, healthy] = [claimed.filter(isPoisonous), claimed.filter((each) => !isPoisonous(each))]
      for (const each of poisonous) slots.run(() => keep(quarantine(each, clock.now())))
      const [provider] = settings.providers
      if (!provider) await giveBack(healthy)
      else
        for (const batch of batches(healthy, provider.batchSize ?? 1))
          slots.run(() => deliver(batch, provider, leaseEndsAt))
    }
    return found
  }

  slots.onError((error) => settings.log.error({ err: error, channel }, 'a delivery could not be recorded'))
  const worker = startWorker({ name: `deliver ${channel}`, log: settings.log, pass, idleMs: options.idleMs })
  return {
    ...worker,
    async stop() {
      await worker.stop()
      await slots.allFree()
    },
  }
}

function isPoisonous({ crashes }: ClaimedDelivery): boolean {
  return crashes >= mostCrashes
}

function batches<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}
