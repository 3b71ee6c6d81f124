import { bucketLabel } from '@gatehouse/kit'
import type { OutgoingMessage, Provider, SendResult } from '@gatehouse/providers'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { ProviderActivity } from '../context/provider-activity.ts'
import type { CompleteMessages } from '../links/complete-messages.ts'
import { countedDomain, latencyBounds } from '../model/measure.ts'
import { countedSmsCode } from '../model/sms-code.ts'
import { type Call, noProvider } from './attempt.ts'
import { callProvider, createOutgoing } from './calls/call-provider.ts'
import { Preflight, type PreflightOptions } from './calls/preflight.ts'
import { linksUnavailable } from './calls/skipped-targets.ts'
import type { Claim } from './claims/poller.ts'
import type { Concurrency } from './concurrency.ts'
import type { ProviderPool } from './providers/provider-pool.ts'
import { redactQuotes } from './redaction.ts'

/** What the dispatcher needs. */
export interface DispatcherOptions extends PreflightOptions {
  readonly metrics: NotifyMetrics
  readonly activity: Pick<ProviderActivity, 'recordCall'>
  /** Adds what messages carry beside their text, just before they are sent. */
  readonly completeMessages?: CompleteMessages
}

/** What the dispatcher uses of the worker. */
export interface DispatcherResources {
  readonly pool: ProviderPool
  readonly concurrency: Concurrency
  /** Delays the next call of a slot while too many steps wait to be recorded. */
  readonly waitForRoom: () => Promise<void>
}

/** Times of a call, by `performance.now()`. */
interface CallTimes {
  /** Before the deliveries were claimed. */
  readonly claimedAt: number
  /** When too little of the lease is left to begin. */
  readonly startBy: number
}

/** The share of a lease that is kept for recording what follows the call. */
const recordingShare = 0.25

/** Calls providers within the channel's slots. */
export class Dispatcher {
  readonly #settings: DispatcherOptions
  readonly #resources: DispatcherResources
  readonly #preflight: Preflight

  constructor(settings: DispatcherOptions, resources: DispatcherResources) {
    this.#settings = settings
    this.#resources = resources
    this.#preflight = new Preflight(settings, resources.pool)
  }

  /**
   * Groups the calls for a claim by provider and begins them as slots are free. Each call adds its result to its attempt;
   * one that finds no slot in time is skipped.
   */
  dispatch(calls: readonly Call[], { claimedAt, leaseEndsAt }: Pick<Claim, 'claimedAt' | 'leaseEndsAt'>): void {
    const { leaseMs } = this.#settings.options
    for (const [provider, mine] of Map.groupBy(calls, (call) => call.provider)) {
      const startBy = leaseEndsAt - provider.timeoutMs - leaseMs * recordingShare
      for (const batch of splitBatches(mine, provider.batchSize ?? 1)) {
        const start = () => this.#run(provider, batch, { claimedAt, startBy })
        this.#resources.concurrency.run({ start, skip: () => skip(batch) }, startBy)
      }
    }
  }

  /** Makes the calls of a batch. A provider that has begun to fail since it was chosen is called by its probe alone. */
  async #run(provider: Provider, batch: readonly Call[], times: CallTimes): Promise<void> {
    const { pool, waitForRoom } = this.#resources
    if (pool.isPaused(provider) && !batch.some(({ isProbe }) => isProbe)) skip(batch)
    else await this.#send(provider, batch, times)
    await waitForRoom()
  }

  /**
   * Calls the provider with a batch, and adds the results to the attempts. The time is looked at once more right before the
   * call: a process may have stood still while it checked, and another have claimed the deliveries since.
   */
  async #send(provider: Provider, batch: readonly Call[], { claimedAt, startBy }: CallTimes): Promise<void> {
    const messages = await completeMessages(this.#settings, batch)
    if (!messages) {
      const results = batch.map(() => linksUnavailable)
      return addResults(batch, noProvider, results)
    }
    const isAllowed = await this.#preflight.check(batch, claimedAt)
    skip(batch.filter((_, index) => !isAllowed[index]))
    const calls = batch.filter((_, index) => isAllowed[index])
    if (calls.length === 0) return
    const startedAt = performance.now()
    if (startedAt >= startBy) return skip(calls)
    const results = await callProvider(
      provider,
      messages.filter((_, index) => isAllowed[index]),
    )
    const seconds = (performance.now() - startedAt) / 1_000
    countCall(this.#settings, provider.name, calls, seconds)
    countFailures(this.#settings, provider.name, results)
    addResults(calls, provider.name, results)
    const redacted = withoutQuotes(calls, results)
    this.#settings.activity.recordCall(provider.name, redacted, seconds * 1_000)
    await reportResults(this.#settings, this.#resources.pool, provider, redacted)
  }
}

/** The results, without the reasons that quote a sensitive message. */
function withoutQuotes(calls: readonly Call[], results: readonly SendResult[]): readonly SendResult[] {
  if (!calls.some(({ attempt }) => attempt.claimed.sensitive)) return results
  return results.flatMap((result, index) => {
    const claimed = calls[index]?.attempt.claimed
    return claimed ? redactQuotes(claimed, [{ result }]).map((each) => each.result) : []
  })
}

/** How long a call took; of mails also where they go, which is what reports about them are compared with. */
function countCall({ channel, metrics }: DispatcherOptions, provider: string, calls: readonly Call[], seconds: number) {
  metrics.providerSeconds.observe({ channel, provider }, seconds)
  metrics.keep('latency', { channel, provider, le: bucketLabel(latencyBounds, seconds) })
  if (channel !== 'email') return
  for (const { target } of calls)
    metrics.keep('states_by_domain', { provider, domain: countedDomain(target.address), state: 'called' })
}

/** Of SMS, why a provider rejected them: what fails on the way is counted by its reports. */
function countFailures({ channel, metrics }: DispatcherOptions, provider: string, results: readonly SendResult[]) {
  if (channel !== 'sms') return
  for (const result of results)
    if (result.kind === 'permanent') metrics.keep('sms_failures', { provider, code: countedSmsCode(result.code) })
}

function skip(calls: readonly Call[]): void {
  for (const { attempt, target } of calls) attempt.skip(target)
}

function addResults(calls: readonly Call[], provider: string, results: readonly SendResult[]): void {
  for (const [index, { attempt, target }] of calls.entries()) {
    const result = results[index]
    if (result) attempt.addResult({ target, provider, result })
    else attempt.skip(target)
  }
}

function splitBatches<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}

/** The messages as they are sent; undefined when they can't be completed at the moment. */
async function completeMessages(
  { channel, log, completeMessages: complete }: DispatcherOptions,
  calls: readonly Call[],
): Promise<readonly OutgoingMessage[] | undefined> {
  const messages = calls.map(({ attempt, target }) => createOutgoing(attempt.claimed, target))
  try {
    return (await complete?.(messages)) ?? messages
  } catch (error) {
    log.warn({ err: error, channel }, 'settings for the links of mails could not be read; the mails wait')
    return undefined
  }
}

/** Reports results to the breaker. When it opens for rejected credentials or a closed account, an operator must act. */
async function reportResults(
  { channel, log, metrics }: DispatcherOptions,
  pool: ProviderPool,
  provider: Provider,
  results: readonly SendResult[],
): Promise<void> {
  const misconfigured = results.filter(({ kind }) => kind === 'misconfigured')
  if (misconfigured.length > 0) {
    metrics.misconfigured.inc({ provider: provider.name }, misconfigured.length)
    metrics.keep('misconfigured', { provider: provider.name }, misconfigured.length)
  }
  const isOpened = await pool.reportResults(provider, results)
  const [first] = misconfigured
  if (isOpened && first && 'reason' in first)
    log.error(
      { provider: provider.name, channel, reason: first.reason },
      'a provider rejects our credentials or account',
    )
}
