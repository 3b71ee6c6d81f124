import { type Clock, startWorker, type Worker } from '@gatehouse/kit'
import type { Provider, SendResult } from '@gatehouse/providers'
import type { Target } from '../model/notification.ts'
import type { ClaimedDelivery, ProviderHealth } from '../store/store.ts'
import { type Call, openAttempt, type PendingAttempt } from './attempt.ts'
import { deferOrExpire } from './calls/send-conditions.ts'
import { resultOfSuppression, resultWithoutProvider } from './calls/skipped-targets.ts'
import { type CompleterOptions, createCompleter } from './completer.ts'
import { createConcurrency } from './concurrency.ts'
import { createSender, type SenderOptions } from './dispatcher.ts'
import {
  abandonWaiting,
  maxCrashes,
  nextStep,
  noProvider,
  quarantine,
  type RetryPolicy,
  suspectCrashes,
} from './next-step.ts'
import { createProviderPool, type ProviderPool, type Unavailable } from './provider-pool.ts'
import { createQuarantine } from './quarantine.ts'

export interface ChannelWorkerOptions extends CompleterOptions, SenderOptions {
  readonly providers: readonly Provider[]
  readonly health: ProviderHealth
  readonly buckets: readonly number[]
  readonly clock: Clock
}

/** How long the others wait while a suspected delivery is tried. */
const trialPauseMs = 100
/** How often what has waited too long is looked for, as a share of how long it may wait. */
const overdueShare = 0.02

/**
 * The worker of one channel: claims due deliveries, calls a provider for each target, stores what came of it. Calls are
 * spread over the channel's slots and recorded together as they end, so that a slow one holds up no other. A slot is free
 * for the next call before its last is stored, unless storing falls behind. What finds no slot in the time that its lease
 * leaves, or until the worker stops, is given back untried: a lease ends by itself only where a process died. While no
 * provider of the channel is healthy, only what probes one is claimed.
 */
export function startChannelWorker(settings: ChannelWorkerOptions): Worker {
  const { channel, deliveries, options, clock, log } = settings
  const pool = createProviderPool(settings.providers, settings.health, options.breaker, clock)
  const policy = policyOf(settings)
  const completer = createCompleter(settings)
  const quarantined = createQuarantine()
  const concurrency = createConcurrency(options.concurrency[channel], (error) =>
    log.error({ err: error, channel }, 'a call could not be made; the leases of its deliveries will end'),
  )
  const finish = ({ claimed, results, untried }: PendingAttempt) => {
    quarantined.ended(claimed)
    const isTried = untried.length < claimed.message.targets.length
    const context = { now: clock.now(), random: Math.random(), availability: pool.availability }
    if (isTried) completer.record(nextStep(claimed, results, policy, context))
    else completer.returnDelivery(claimed)
  }
  const sender = createSender(settings, pool, finish)
  /** It is left where it is, until some provider may take it or it expires; no longer than it may wait. */
  const putOff = (claimed: ClaimedDelivery, at: number): boolean => {
    const now = clock.now()
    if (at > (claimed.message.waitsSince ?? now) + policy.patienceMs) return false
    quarantined.ended(claimed)
    completer.returnDelivery(claimed, Math.min(at, claimed.expiresAt ?? at), now)
    return true
  }

  /** Answers how many calls it gives to the concurrency. */
  const start = async (claimed: readonly ClaimedDelivery[], leaseEndsAt: number): Promise<number> => {
    let called = 0
    for (const [provider, calls] of await addressed(claimed, pool, clock, { finish, putOff })) {
      called += calls.length
      for (const batch of batches(calls, provider.batchSize ?? 1)) {
        // Of a provider that has begun to fail since, the probe alone is made.
        const isProbe = batch.some((call) => call.isProbe)
        const leave = async () => sender.leave(provider, batch)
        const send = () => sender.send(provider, batch, leaseEndsAt - options.leaseMs)
        const begin = () => (pool.isPaused(provider) && !isProbe ? leave() : send()).then(completer.waitForRoom)
        concurrency.run({ begin, leave }, sender.beginBy(provider, leaseEndsAt))
      }
    }
    return called
  }

  let lookedForOverdueAt = Number.NEGATIVE_INFINITY
  /** While no provider takes anything, what has waited as long as it may is given up, and nothing else is claimed. */
  const giveUpOverdue = async (since: number): Promise<boolean> => {
    const now = clock.now()
    const oldest = now - policy.patienceMs
    if (oldest < since || now - lookedForOverdueAt < policy.patienceMs * overdueShare) return false
    let found = false
    for (const bucket of settings.buckets) {
      await completer.waitForRoom()
      const claimed = await deliveries.claim(bucket, channel, options.claimSize, options.leaseMs, oldest)
      for (const each of claimed)
        completer.record(deferOrExpire(each, options, now, Math.random()) ?? abandonWaiting(each, now))
      if (claimed.length > 0) found = true
    }
    if (!found) lookedForOverdueAt = now
    return found
  }

  /** One, but where that is for a provider that can't be probed yet: then more, to find one that is for another. */
  let probeSize = 1
  const pass = async (signal: AbortSignal): Promise<boolean> => {
    let found = false
    for (const bucket of settings.buckets) {
      await concurrency.waitForSlot()
      await completer.waitForRoom()
      if (signal.aborted) break
      const capacity = await pool.refresh()
      if (capacity.kind === 'none') return (await giveUpOverdue(capacity.since)) || found
      const limit = capacity.kind === 'probe' ? probeSize : options.claimSize
      const leaseEndsAt = performance.now() + options.leaseMs
      const claimed = await deliveries.claim(bucket, channel, limit, options.leaseMs, clock.now())
      if (claimed.length > 0) found = true
      const sendable = claimed.filter((each) => {
        const held = deferOrExpire(each, options, clock.now(), Math.random())
        if (held) completer.record(held)
        return !held
      })
      const { poisonous = [], suspected = [], healthy = [] } = Object.groupBy(sendable, healthOf)
      for (const each of poisonous) completer.record(quarantine(each, clock.now()))
      const { tried, waiting } = quarantined.admit(suspected, leaseEndsAt)
      for (const each of waiting) completer.returnDelivery(each, clock.now() + trialPauseMs)
      const called = await start([...tried, ...healthy], leaseEndsAt)
      if (claimed.length > 0)
        probeSize = called > 0 || capacity.kind === 'all' ? 1 : Math.min(limit * 2, options.claimSize)
      if (capacity.kind === 'probe' && found) break
    }
    return found
  }

  const worker = startWorker({ name: `deliver ${channel}`, log, pass, idleMs: options.idleMs })
  return {
    ...worker,
    async stop() {
      await Promise.all([worker.stop(), concurrency.close()])
      await completer.drain()
    },
  }
}

function policyOf({ channel, options }: ChannelWorkerOptions): RetryPolicy {
  const { backoff, suppressionDays } = options
  const isPush = channel === 'push'
  const attempts = isPush ? options.pushAttempts : options.attempts
  return { attempts, backoff, suppressionDays, patienceMs: isPush ? options.pushPatienceMs : options.patienceMs }
}

/** What becomes of deliveries for which nobody is called. */
interface Uncalled {
  readonly finish: (ended: PendingAttempt) => void
  /** For those that wait for a provider until a time; false where they have waited too long already. */
  readonly putOff: (claimed: ClaimedDelivery, at: number) => boolean
}

/** Who is called for which target; those for which nobody is, are answered here. */
async function addressed(
  claimed: readonly ClaimedDelivery[],
  pool: ProviderPool,
  clock: Clock,
  { finish, putOff }: Uncalled,
): Promise<Map<Provider, Call[]>> {
  const byProvider = new Map<Provider, Call[]>()
  for (const each of claimed) {
    const open = openAttempt(each)
    const { targets } = each.message
    const uncalled: Array<{ readonly target: Target; readonly carrier: Unavailable }> = []
    const answer = (target: Target, result: SendResult) => {
      for (const ended of open.answered(target, noProvider, result)) finish(ended)
    }
    for (const target of targets) {
      const suppressed = resultOfSuppression(each, target, clock.now())
      if (suppressed) {
        answer(target, suppressed)
        continue
      }
      const carrier = pool.choose(target, each.message) ?? (await pool.probe(target, each.message))
      if (carrier.kind !== 'provider') {
        uncalled.push({ target, carrier })
        continue
      }
      const call = { of: open, target, isProbe: carrier.isProbe }
      const calls = byProvider.get(carrier.provider)
      if (calls) calls.push(call)
      else byProvider.set(carrier.provider, [call])
    }
    const waits = uncalled.flatMap(({ carrier }) => (carrier.kind === 'later' ? [carrier.at] : []))
    if (waits.length > 0 && waits.length === targets.length && putOff(each, Math.min(...waits))) continue
    for (const { target, carrier } of uncalled)
      answer(target, resultWithoutProvider(carrier, target.service ?? each.channel, clock.now()))
  }
  return byProvider
}

function healthOf({ crashes }: ClaimedDelivery): 'healthy' | 'suspected' | 'poisonous' {
  if (crashes >= maxCrashes) return 'poisonous'
  return crashes >= suspectCrashes ? 'suspected' : 'healthy'
}

function batches<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}
