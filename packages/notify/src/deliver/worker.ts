import { setImmediate } from 'node:timers/promises'
import { isFaultOfInput, startWorker, type Worker } from '@gatehouse/kit'
import type { Provider } from '@gatehouse/providers'
import type { Agenda } from '../agenda/agenda.ts'
import type { HandoverTargets } from '../context/handover.ts'
import type { RetryPolicy } from '../model/delivery/retry-policy.ts'
import type { ClaimedDelivery, Deliveries, ProviderHealth } from '../store/store.ts'
import type { Call, OpenAttempt } from './attempt.ts'
import { deferOrExpire } from './calls/send-conditions.ts'
import { HandoverQueue } from './claims/handover-queue.ts'
import { type Claim, Poller } from './claims/poller.ts'
import { type Completer, type CompleterOptions, createCompleter } from './completer.ts'
import { Concurrency } from './concurrency.ts'
import { Dispatcher, type DispatcherOptions } from './dispatcher.ts'
import { nextStep, type StepContext, stepAfterCrashes, stepAfterWaiting, stepWithoutProvider } from './next-step.ts'
import { ProviderPool } from './providers/provider-pool.ts'
import { createQuarantine } from './providers/quarantine.ts'
import { createRouter, type Route, type Router } from './providers/router.ts'

/** What the worker of a channel needs. */
export interface ChannelWorkerOptions extends CompleterOptions, DispatcherOptions {
  readonly deliveries: Deliveries
  /** The preferred provider first; none where the channel is off, and what waits for it is to end. */
  readonly providers: readonly Provider[]
  readonly health: ProviderHealth
  readonly agenda: Agenda
  /** Where the worker says that it takes in what is admitted in this process. */
  readonly handover?: HandoverTargets
}

/** How many claims' worth of deliveries may be handed over before the worker takes them. */
const maxHandoverClaims = 20
/** How long a delivery waits for which no provider could be chosen, in milliseconds. */
const failedRoutePauseMs = 1_000
/** From when on no further delivery of a claim asks, once one asked in vain, in milliseconds: a server may be silent. */
const patienceMs = 2_000

/**
 * Starts the worker of one channel: it claims due deliveries, calls a provider for each target and records the step that
 * follows. Calls are spread over the channel's slots and recorded together as they end, so that a slow one delays no
 * other. A slot is free for the next call before its last is recorded, unless recording falls behind. What finds no slot
 * while its lease leaves time for a call, or until the worker stops, is released without an attempt: a lease ends by
 * itself only where a process died. It may be stopped more than once: each waits for what was released until then.
 */
export function startChannelWorker(settings: ChannelWorkerOptions): Worker {
  const { channel, log, options } = settings
  const delivery = new ChannelDelivery(settings)
  const pass = (signal: AbortSignal) => delivery.pass(signal)
  const worker = startWorker({ name: `deliver ${channel}`, log, pass, idleMs: options.idleMs })
  delivery.onHandover(worker.resume)
  return {
    ...worker,
    async stop() {
      await Promise.all([worker.stop(), delivery.stopCalls()])
      await delivery.drain()
    },
  }
}

/** The parts of the delivery loop, joined: claim, route, dispatch, and complete each attempt. */
class ChannelDelivery {
  readonly #settings: ChannelWorkerOptions
  readonly #policy: RetryPolicy
  readonly #availability: StepContext['availability']
  readonly #poller: Poller
  readonly #quarantine = createQuarantine()
  readonly #router: Router
  readonly #concurrency: Concurrency
  readonly #dispatcher: Dispatcher
  readonly #completer: Completer
  readonly #handover: HandoverQueue
  #resume: () => void = () => {}

  constructor(settings: ChannelWorkerOptions) {
    const { channel, options, clock, log } = settings
    const policy = retryPolicyOf(settings)
    const pool = new ProviderPool(settings.providers, settings.health, options.breaker, clock)
    const completer = createCompleter(settings)
    const handover = new HandoverQueue({
      maxDeliveries: options.claimSize * maxHandoverClaims,
      release: (deliveries) => {
        for (const claimed of deliveries) completer.complete({ claimed })
      },
      onAdded: () => this.#resume(),
    })
    settings.handover?.set(channel, handover)
    const concurrency = new Concurrency(options.concurrency[channel], (error) =>
      log.error({ err: error, channel }, 'a call could not be made; the leases of its deliveries will end'),
    )
    const { waitForRoom } = completer
    const waitForCapacity = async () => {
      await concurrency.waitForSlot()
      await waitForRoom()
    }
    this.#settings = settings
    this.#policy = policy
    this.#availability = (target, history) => pool.availability(target, history)
    this.#completer = completer
    this.#concurrency = concurrency
    this.#handover = handover
    this.#poller = new Poller(settings, { handover, pool, policy, waitForCapacity })
    this.#router = createRouter(pool, policy, clock)
    this.#dispatcher = new Dispatcher(settings, { pool, concurrency, waitForRoom })
  }

  /** What is called when something was handed over. */
  onHandover(resume: () => void): void {
    this.#resume = resume
  }

  /** Claims what is due and begins its calls; true when something was claimed. */
  async pass(signal: AbortSignal): Promise<boolean> {
    let hasFound = false
    for await (const claim of this.#poller.poll(signal)) {
      hasFound = true
      const calls = await this.#route(this.#selectSendable(claim))
      this.#dispatcher.dispatch(calls, claim)
      this.#poller.adjustProbe(claim, calls.length)
    }
    return hasFound
  }

  /** Skips the calls that wait for a slot; resolves when those under way have ended. */
  stopCalls(): Promise<void> {
    this.#handover.stop()
    return this.#concurrency.close()
  }

  /** Resolves when every step is recorded. */
  async drain(): Promise<void> {
    // The attempts that ended last have resolved, but their steps are not decided yet.
    await setImmediate()
    await this.#completer.drain()
  }

  /** The deliveries that may be attempted now; the others are completed without an attempt. */
  #selectSendable({ kind, deliveries, leaseEndsAt }: Claim): readonly ClaimedDelivery[] {
    const { clock, options, providers } = this.#settings
    const completer = this.#completer
    const sendable = deliveries.filter((each) => {
      const step = deferOrExpire(each, options, clock.now(), Math.random())
      if (step) completer.complete(step)
      return !step
    })
    if (kind === 'overdue') {
      for (const each of sendable) completer.complete(stepAfterWaiting(each, clock.now()))
      return []
    }
    if (providers.length === 0) {
      const now = clock.now()
      for (const each of sendable) completer.complete(stepWithoutProvider(each, this.#policy, now))
      return []
    }
    const { admitted, waiting, crashed } = this.#quarantine.admit(sendable, leaseEndsAt, clock.now())
    for (const each of crashed) completer.complete(stepAfterCrashes(each, clock.now()))
    for (const each of waiting) completer.complete(each)
    return admitted
  }

  /** The calls to make for deliveries. Those that wait for a provider are released. */
  async #route(deliveries: readonly ClaimedDelivery[]): Promise<readonly Call[]> {
    const calls: Call[] = []
    const giveUpAt = performance.now() + patienceMs
    let isSilent = false
    for (const claimed of deliveries) {
      const route = await (isSilent ? this.#postpone(claimed) : this.#router.route(claimed)).catch((error) => {
        isSilent = performance.now() > giveUpAt
        return this.#afterFailedRoute(claimed, error)
      })
      if (!route) continue
      if (route.kind === 'release') {
        this.#quarantine.release(claimed)
        this.#completer.complete(route.release)
      } else {
        this.#complete(route.attempt)
        calls.push(...route.calls)
      }
    }
    return calls
  }

  /**
   * Releases a delivery whose providers could not be chosen, without an attempt or a crash. One that may itself be at fault
   * is left to its lease: that is counted, so that it ends.
   */
  async #afterFailedRoute(claimed: ClaimedDelivery, err: unknown): Promise<Route | undefined> {
    const { log, channel } = this.#settings
    const about = { err, channel, delivery: claimed.deliveryId }
    if (isFaultOfInput(err)) {
      log.error(about, 'a provider could not be chosen; the lease of the delivery will end')
      return undefined
    }
    log.warn(about, 'a provider could not be chosen; the delivery waits')
    return this.#postpone(claimed)
  }

  async #postpone(claimed: ClaimedDelivery): Promise<Route> {
    return { kind: 'release', release: { claimed, dueAt: this.#settings.clock.now() + failedRoutePauseMs } }
  }

  /** Completes an attempt with the step that follows it, once all of its targets have a result. */
  async #complete({ claimed, done }: OpenAttempt): Promise<void> {
    const attempt = await done
    this.#quarantine.release(claimed)
    try {
      const context = { now: this.#settings.clock.now(), random: Math.random(), availability: this.#availability }
      this.#completer.complete(nextStep(attempt, this.#policy, context))
    } catch (error) {
      const { log, channel } = this.#settings
      log.error({ err: error, channel }, 'the step after an attempt could not be decided; its lease will end')
    }
  }
}

function retryPolicyOf({ channel, options }: ChannelWorkerOptions): RetryPolicy {
  const { backoff, suppressionDays } = options
  const isPush = channel === 'push'
  const attempts = isPush ? options.pushAttempts : options.attempts
  return { attempts, backoff, suppressionDays, patienceMs: isPush ? options.pushPatienceMs : options.patienceMs }
}
