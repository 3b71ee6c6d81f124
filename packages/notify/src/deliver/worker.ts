import { type Clock, startWorker, type Worker } from '@gatehouse/kit'
import type { Provider, SendResult } from '@gatehouse/providers'
import type { Target } from '../model/notification.ts'
import type { ClaimedDelivery, ProviderHealth } from '../store/store.ts'
import { type Call, openTry, type Try } from './attempt.ts'
import { heldBack } from './calls/send-conditions.ts'
import { suppressedSince, withoutCarrier } from './calls/skipped-targets.ts'
import { createRecorder, type RecorderOptions } from './completer.ts'
import { createSlots } from './concurrency.ts'
import { createSender, type SenderOptions } from './dispatcher.ts'
import { giveUp, judge, mostCrashes, noProvider, quarantine, type RetryPolicy, suspiciousCrashes } from './next-step.ts'
import { type Carriers, createCarriers, type Uncarried } from './provider-pool.ts'
import { createTrial } from './quarantine.ts'

export interface ChannelWorkerOptions extends RecorderOptions, SenderOptions {
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
  const carriers = createCarriers(settings.providers, settings.health, options.breaker, clock)
  const policy = policyOf(settings)
  const recorder = createRecorder(settings)
  const trial = createTrial()
  const slots = createSlots(options.concurrency[channel], (error) =>
    log.error({ err: error, channel }, 'a call could not be made; the leases of its deliveries will end'),
  )
  const finish = ({ claimed, results, untried }: Try) => {
    trial.ended(claimed)
    const isTried = untried.length < claimed.message.targets.length
    const context = { now: clock.now(), random: Math.random(), availability: carriers.availability }
    if (isTried) recorder.keep(judge(claimed, results, policy, context))
    else recorder.giveBack(claimed)
  }
  const sender = createSender(settings, carriers, finish)
  /** It is left where it is, until some provider may take it or it expires; no longer than it may wait. */
  const putOff = (claimed: ClaimedDelivery, at: number): boolean => {
    const now = clock.now()
    if (at > (claimed.message.waitsSince ?? now) + policy.patienceMs) return false
    trial.ended(claimed)
    recorder.giveBack(claimed, Math.min(at, claimed.expiresAt ?? at), now)
    return true
  }

  /** Answers how many calls it gives to the slots. */
  const start = async (claimed: readonly ClaimedDelivery[], leaseEndsAt: number): Promise<number> => {
    let called = 0
    for (const [provider, calls] of await addressed(claimed, carriers, clock, { finish, putOff })) {
      called += calls.length
      for (const batch of batches(calls, provider.batchSize ?? 1)) {
        // Of a provider that has begun to fail since, the probe alone is made.
        const isProbe = batch.some((call) => call.isProbe)
        const leave = async () => sender.leave(provider, batch)
        const send = () => sender.send(provider, batch, leaseEndsAt - options.leaseMs)
        const begin = () => (carriers.isResting(provider) && !isProbe ? leave() : send()).then(recorder.room)
        slots.run({ begin, leave }, sender.beginBy(provider, leaseEndsAt))
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
      await recorder.room()
      const claimed = await deliveries.claim(bucket, channel, options.claimSize, options.leaseMs, oldest)
      for (const each of claimed) recorder.keep(heldBack(each, options, now, Math.random()) ?? giveUp(each, now))
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
      await slots.someFree()
      await recorder.room()
      if (signal.aborted) break
      const capacity = await carriers.refresh()
      if (capacity.kind === 'none') return (await giveUpOverdue(capacity.since)) || found
      const limit = capacity.kind === 'probe' ? probeSize : options.claimSize
      const leaseEndsAt = performance.now() + options.leaseMs
      const claimed = await deliveries.claim(bucket, channel, limit, options.leaseMs, clock.now())
      if (claimed.length > 0) found = true
      const sendable = claimed.filter((each) => {
        const held = heldBack(each, options, clock.now(), Math.random())
        if (held) recorder.keep(held)
        return !held
      })
      const { poisonous = [], suspected = [], healthy = [] } = Object.groupBy(sendable, healthOf)
      for (const each of poisonous) recorder.keep(quarantine(each, clock.now()))
      const { tried, waiting } = trial.admit(suspected, leaseEndsAt)
      for (const each of waiting) recorder.giveBack(each, clock.now() + trialPauseMs)
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
      await Promise.all([worker.stop(), slots.close()])
      await recorder.empty()
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
  readonly finish: (ended: Try) => void
  /** For those that wait for a provider until a time; false where they have waited too long already. */
  readonly putOff: (claimed: ClaimedDelivery, at: number) => boolean
}

/** Who is called for which target; those for which nobody is, are answered here. */
async function addressed(
  claimed: readonly ClaimedDelivery[],
  carriers: Carriers,
  clock: Clock,
  { finish, putOff }: Uncalled,
): Promise<Map<Provider, Call[]>> {
  const byProvider = new Map<Provider, Call[]>()
  for (const each of claimed) {
    const open = openTry(each)
    const { targets } = each.message
    const uncalled: Array<{ readonly target: Target; readonly carrier: Uncarried }> = []
    const answer = (target: Target, result: SendResult) => {
      for (const ended of open.answered(target, noProvider, result)) finish(ended)
    }
    for (const target of targets) {
      const suppressed = suppressedSince(each, target, clock.now())
      if (suppressed) {
        answer(target, suppressed)
        continue
      }
      const carrier = carriers.choose(target, each.message) ?? (await carriers.probe(target, each.message))
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
      answer(target, withoutCarrier(carrier, target.service ?? each.channel, clock.now()))
  }
  return byProvider
}

function healthOf({ crashes }: ClaimedDelivery): 'healthy' | 'suspected' | 'poisonous' {
  if (crashes >= mostCrashes) return 'poisonous'
  return crashes >= suspiciousCrashes ? 'suspected' : 'healthy'
}

function batches<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}
