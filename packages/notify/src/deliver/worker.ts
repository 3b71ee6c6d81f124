import { type Clock, startWorker, type Worker } from '@gatehouse/kit'
import type { Provider, SendResult } from '../providers/provider.ts'
import type { ClaimedDelivery, ProviderHealth } from '../store.ts'
import { type Carriers, createCarriers } from './carriers.ts'
import { judge, mostCrashes, noProvider, quarantine, type RetryPolicy, suspiciousCrashes } from './outcome.ts'
import { createRecorder, type RecorderOptions } from './recorder.ts'
import { suppressedSince, withoutCarrier } from './refusal.ts'
import { createSender, type SenderOptions } from './sender.ts'
import { createSlots } from './slots.ts'
import { createTrial } from './trial.ts'
import { type Call, openTry, type Try } from './try.ts'

export interface ChannelWorkerOptions extends RecorderOptions, SenderOptions {
  readonly providers: readonly Provider[]
  readonly health: ProviderHealth
  readonly buckets: readonly number[]
  readonly clock: Clock
}

/** How long the others wait while a suspected delivery is tried. */
const trialPauseMs = 100

/**
 * The worker of one channel: claims due deliveries, calls a provider for each target, stores what came of it. Calls are
 * spread over the channel's slots and recorded together as they end, so that a slow one holds up no other. A slot is free
 * for the next call before its last is stored, unless storing falls behind. What finds no slot in the time that its lease
 * leaves, or until the worker stops, is given back untried: a lease ends by itself only where a process died.
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
    const context = { now: clock.now(), random: Math.random(), hasAnother: carriers.hasAnother }
    if (isTried) recorder.keep(judge(claimed, results, policy, context))
    else recorder.giveBack(claimed)
  }
  const sender = createSender(settings, carriers, finish)

  const start = async (claimed: readonly ClaimedDelivery[], leaseEndsAt: number) => {
    for (const [provider, calls] of await addressed(claimed, carriers, clock, finish))
      for (const batch of batches(calls, provider.batchSize ?? 1))
        slots.run(
          {
            begin: () => sender.send(provider, batch, leaseEndsAt - options.leaseMs).then(recorder.room),
            leave: () => sender.leave(provider, batch),
          },
          sender.beginBy(provider, leaseEndsAt),
        )
  }

  const pass = async (signal: AbortSignal): Promise<boolean> => {
    if ((await carriers.refresh()) > clock.now()) return false
    let found = false
    for (const bucket of settings.buckets) {
      await slots.someFree()
      await recorder.room()
      if (signal.aborted) break
      const leaseEndsAt = performance.now() + options.leaseMs
      const claimed = await deliveries.claim(bucket, channel, options.claimSize, options.leaseMs, clock.now())
      if (claimed.length > 0) found = true
      const { poisonous = [], suspected = [], healthy = [] } = Object.groupBy(claimed, healthOf)
      for (const each of poisonous) recorder.keep(quarantine(each, clock.now()))
      const { tried, waiting } = trial.admit(suspected, leaseEndsAt)
      for (const each of waiting) recorder.giveBack(each, clock.now() + trialPauseMs)
      await start([...tried, ...healthy], leaseEndsAt)
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

/** Who is called for which target; those for which nobody is, are answered here. */
async function addressed(
  claimed: readonly ClaimedDelivery[],
  carriers: Carriers,
  clock: Clock,
  finish: (ended: Try) => void,
): Promise<Map<Provider, Call[]>> {
  const byProvider = new Map<Provider, Call[]>()
  for (const each of claimed) {
    const open = openTry(each)
    const { failedProviders: failed = [] } = each.message
    for (const target of each.message.targets) {
      const answer = (result: SendResult) => {
        for (const ended of open.answered(target, noProvider, result)) finish(ended)
      }
      const suppressed = suppressedSince(each, target, clock.now())
      if (suppressed) {
        answer(suppressed)
        continue
      }
      const carrier = carriers.choose(target, failed) ?? (await carriers.probe(target, failed))
      if (carrier.kind !== 'provider') {
        answer(withoutCarrier(carrier, target.service ?? each.channel, clock.now()))
        continue
      }
      const calls = byProvider.get(carrier.provider)
      if (calls) calls.push({ of: open, target })
      else byProvider.set(carrier.provider, [{ of: open, target }])
    }
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
