import { setTimeout } from 'node:timers/promises'
import { type Clock, createGatherer, isUnavailable, type Log, startWorker, type Worker } from '@gatehouse/kit'
import type { Channel } from '../channel.ts'
import type { Hints } from '../hints.ts'
import type { MailLinks } from '../mail-links.ts'
import type { NotifyMetrics } from '../metrics.ts'
import type { Target } from '../notification.ts'
import type { NotifyOptions } from '../options.ts'
import type { Provider, SendResult } from '../providers/provider.ts'
import type { ClaimedDelivery, Deliveries, ProviderHealth, TryRecord } from '../store.ts'
import { suppresses } from '../suppression.ts'
import { createBacklog } from './backlog.ts'
import { createCarriers } from './carriers.ts'
import { judge, mostCrashes, quarantine, suspiciousCrashes } from './outcome.ts'
import { callProvider, outgoing } from './send.ts'
import { createSlots } from './slots.ts'
import { type Call, openTry, type Try } from './try.ts'

export interface ChannelWorkerOptions {
  readonly channel: Channel
  readonly providers: readonly Provider[]
  readonly deliveries: Deliveries
  readonly health: ProviderHealth
  readonly buckets: readonly number[]
  readonly options: NotifyOptions
  readonly clock: Clock
  readonly log: Log
  readonly metrics: NotifyMetrics
  /** Gives mails their links just before they go out. */
  readonly mailLinks?: MailLinks
  readonly hints: Pick<Hints, 'waiting' | 'changed'>
}

/**
 * The worker of one channel: claims due deliveries, calls a provider for each target, stores what came of it. Calls are
 * spread over the channel's slots and recorded together as they end, so that a slow one holds up no other. A slot is free
 * for the next call before its last is stored, unless storing falls behind.
 */
export function startChannelWorker(settings: ChannelWorkerOptions): Worker {
  const { channel, deliveries, options, clock, metrics, log } = settings
  const carriers = createCarriers(settings.providers, settings.health, options.breaker, clock)
  const { backoff, suppressionDays, pushPatienceMs } = options
  const policy = {
    attempts: channel === 'push' ? options.pushAttempts : options.attempts,
    backoff,
    suppressionDays,
    pushPatienceMs,
  }
  const failed = (error: unknown) =>
    log.error({ err: error, channel }, 'what became of a delivery could not be recorded; its lease will end')
  const slots = createSlots(options.concurrency[channel], failed)
  const backlog = createBacklog(options.claimSize * 2)
  const recorder = createGatherer<TryRecord, true>((records) => recordAll(settings, records), {
    most: options.claimSize,
    lanes: 2,
    gatherMs: recordGatherMs,
    mostWaiting: Number.POSITIVE_INFINITY,
  })

  const keep = (record: TryRecord) => {
    backlog.add(recorder.do(record).catch(failed))
  }
  let trial: { readonly deliveryId: string; readonly endsAt: number } | undefined
  const finish = ({ claimed, results, untried }: Try) => {
    if (trial?.deliveryId === claimed.deliveryId) trial = undefined
    if (untried.length < claimed.message.targets.length)
      keep(judge(claimed, results, policy, clock.now(), Math.random()))
    else backlog.add(deliveries.release(claimed.bucket, [claimed], clock.now()).catch(failed))
  }

  const count = async (provider: Provider, answers: readonly SendResult[]) => {
    const refused = answers.filter(({ kind }) => kind === 'misconfigured')
    if (refused.length > 0) metrics.misconfigured.inc({ provider: provider.name }, refused.length)
    const opened = await carriers.seen(provider, answers)
    const [first] = refused
    if (opened && first && 'reason' in first)
      log.error(
        { provider: provider.name, channel, reason: first.reason },
        'a provider refuses our credentials or account',
      )
  }

  /** What goes out; undefined when the links of mails can't be made at the moment. */
  const complete = async (calls: readonly Call[]) => {
    const bare = calls.map((call) => outgoing(call.of.claimed, call.target))
    try {
      return (await settings.mailLinks?.(bare)) ?? bare
    } catch (error) {
      log.warn({ err: error, channel }, 'the settings that mails need for their links could not be read; they wait')
      return undefined
    }
  }

  const send = async (provider: Provider, calls: readonly Call[], leaseEndsAt: number) => {
    const inTime = performance.now() + provider.timeoutMs + options.leaseMs * recordingShare < leaseEndsAt
    const messages = inTime ? await complete(calls) : undefined
    const begun = performance.now()
    const answers: readonly SendResult[] = messages ? await callProvider(provider, messages) : []
    if (messages) metrics.providerSeconds.observe({ provider: provider.name }, (performance.now() - begun) / 1_000)
    const unanswered = inTime && !messages ? withoutLinks : undefined
    for (const [index, call] of calls.entries())
      for (const each of call.of.answered(call.target, provider.name, answers[index] ?? unanswered)) finish(each)
    if (messages) await count(provider, answers)
    if (backlog.isFull()) await backlog.room()
  }

  const start = async (claimed: readonly ClaimedDelivery[], leaseEndsAt: number) => {
    const byProvider = new Map<Provider, Call[]>()
    for (const each of claimed) {
      const open = openTry(each)
      for (const target of each.message.targets) {
        const refusal = suppressedSince(each, target, clock.now())
        if (refusal) {
          for (const done of open.answered(target, 'none', refusal)) finish(done)
          continue
        }
        const carrier = carriers.choose(target) ?? (await carriers.probe(target))
        if (carrier.kind === 'provider') {
          const calls = byProvider.get(carrier.provider)
          if (calls) calls.push({ of: open, target })
          else byProvider.set(carrier.provider, [{ of: open, target }])
          continue
        }
        const answer = withoutCarrier(carrier, target.service ?? channel, clock.now())
        for (const each of open.answered(target, 'none', answer)) finish(each)
      }
    }
    for (const [provider, calls] of byProvider)
      for (const batch of batches(calls, provider.batchSize ?? 1)) slots.run(() => send(provider, batch, leaseEndsAt))
  }

  /**
   * One of those whose workers died while they held them, if none is being tried; the others are given back. Most had
   * only waited beside the one that was at fault, which must be told from them.
   */
  const oneOf = (bucket: number, suspected: readonly ClaimedDelivery[], leaseEndsAt: number): ClaimedDelivery[] => {
    const isFree = trial === undefined || performance.now() > trial.endsAt
    const [first, ...rest] = suspected
    const waiting = isFree ? rest : suspected
    if (waiting.length > 0) backlog.add(deliveries.release(bucket, waiting, clock.now() + trialPauseMs).catch(failed))
    if (!isFree || !first) return []
    trial = { deliveryId: first.deliveryId, endsAt: leaseEndsAt }
    return [first]
  }

  const pass = async (): Promise<boolean> => {
    if ((await carriers.refresh()) > clock.now()) return false
    let found = false
    for (const bucket of settings.buckets) {
      await slots.someFree()
      const leaseEndsAt = performance.now() + options.leaseMs
      const claimed = await deliveries.claim(bucket, channel, options.claimSize, options.leaseMs, clock.now())
      if (claimed.length > 0) found = true
      const { poisonous = [], suspected = [], healthy = [] } = Object.groupBy(claimed, healthOf)
      for (const each of poisonous) keep(quarantine(each, clock.now()))
      await start([...healthy, ...oneOf(bucket, suspected, leaseEndsAt)], leaseEndsAt)
    }
    return found
  }

  const worker = startWorker({ name: `deliver ${channel}`, log, pass, idleMs: options.idleMs })
  return {
    ...worker,
    async stop() {
      await worker.stop()
      await slots.allFree()
      await backlog.empty()
    },
  }
}

/** Its recipient may have unsubscribed, or its address bounced, while it waited here or for another try. */
function suppressedSince(claimed: ClaimedDelivery, target: Target, now: number): SendResult | undefined {
  const { channel, event, critical } = claimed
  const asked = { channel, event, critical, address: target.address, now }
  const found = claimed.suppressions.find((entry) => suppresses(entry, asked))
  return found && { kind: 'permanent', code: 'suppressed', reason: `its address is left out by now: ${found.reason}` }
}

async function recordAll(settings: ChannelWorkerOptions, records: readonly TryRecord[]): Promise<true[]> {
  for (const [bucket, mine] of Map.groupBy(records, ({ claimed }) => claimed.bucket)) {
    const late = await persist(() => settings.deliveries.record(bucket, mine), settings.options.leaseMs)
    if (late > 0) settings.log.warn({ late, channel: settings.channel }, 'tries were recorded too late and left out')
  }
  if (records.some(({ next }) => next.kind === 'dead' && next.fallback)) settings.hints.waiting()
  settings.hints.changed()
  for (const [result, mine] of Map.groupBy(records, ({ what }) => what))
    settings.metrics.attempts.inc({ channel: settings.channel, result }, mine.length)
  return records.map(() => true)
}

/** A mail without the links it must have does not go out, and no try of it is burnt. */
const withoutLinks: SendResult = {
  kind: 'rate_limited',
  retryAfterMs: 5_000,
  reason: 'the settings for its links could not be read',
}

/** How long a try waits for others when many are stored; while it does, a crash would send it again. */
const recordGatherMs = 25

/** How long the others wait while a suspected delivery is tried. */
const trialPauseMs = 100

/** The share of a lease that is kept for storing what came of the call. */
const recordingShare = 0.25
const persistPauseMs = 250

/** What a provider has taken must be stored: while the database is away it is tried again, as long as the lease lasts. */
async function persist<T>(work: () => Promise<T>, leaseMs: number): Promise<T> {
  const deadline = performance.now() + leaseMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (performance.now() > deadline || !isUnavailable(error)) throw error
      await setTimeout(persistPauseMs)
    }
  }
}

function withoutCarrier(
  carrier: { kind: 'later'; at: number; reason: string } | { kind: 'nobody' },
  service: string,
  now: number,
): SendResult {
  if (carrier.kind === 'later')
    return { kind: 'rate_limited', retryAfterMs: Math.max(0, carrier.at - now), reason: carrier.reason }
  return { kind: 'permanent', code: 'no_provider', reason: `no provider carries to ${service}` }
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
