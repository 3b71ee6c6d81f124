import { setTimeout } from 'node:timers/promises'
import { createBatcher, isRefusedValue, type Log } from '@gatehouse/kit'
import type { NotifyOptions } from '../config/options.ts'
import type { Hints } from '../context/hints.ts'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { Channel } from '../model/channel.ts'
import type { BucketErrors, Deliveries } from '../store/store.ts'
import { type AttemptStep, noProvider, type Release, type Step } from './attempt.ts'
import { createBacklog } from './backlog.ts'

/** What the completer needs. */
export interface CompleterOptions {
  readonly channel: Channel
  readonly deliveries: Deliveries
  readonly options: NotifyOptions
  readonly log: Log
  readonly metrics: NotifyMetrics
  readonly hints: Pick<Hints, 'onQueued' | 'onDeferred' | 'onChanged'>
}

/** Records steps beside whatever else is going on. A step that can't be recorded is left until its lease ends. */
export interface Completer {
  /** Records a step, together with others. */
  complete(step: Step): void
  /** Resolves when recording does not lag behind. */
  waitForRoom(): Promise<void>
  /** Resolves when every step is recorded. */
  drain(): Promise<void>
}

/** How long a step waits for others when many are recorded, in milliseconds; after a crash in that time it is sent again. */
const gatherMs = 25
/** How many claims' worth of steps may wait to be recorded before no more deliveries are claimed. */
const maxClaims = 2
const persistPauseMs = 250

/** Creates the completer of a channel's worker. */
export function createCompleter(settings: CompleterOptions): Completer {
  const { channel, options, log } = settings
  const backlog = createBacklog(options.claimSize * maxClaims)
  // An item of the inbox is seen only when it is recorded: it waits for few others.
  const gathering = channel === 'in-app' ? {} : { gatherMs }
  const batching = { maxBatch: options.claimSize, concurrency: 2, ...gathering, maxWaiting: Number.POSITIVE_INFINITY }
  const steps = createBatcher<AttemptStep, true>((batch) => recordSteps(settings, batch), batching)
  const releases = createBatcher<Release, true>((batch) => releaseAll(settings, batch), batching)
  const logError = (error: unknown) =>
    log.error({ err: error, channel }, 'a step could not be recorded; the lease of its delivery will end')
  return {
    complete: (step) => backlog.add(('next' in step ? steps.add(step) : releases.add(step)).catch(logError)),
    waitForRoom: () => backlog.waitForRoom(),
    drain: () => backlog.drain(),
  }
}

async function recordSteps(settings: CompleterOptions, steps: readonly AttemptStep[]): Promise<true[]> {
  const { deliveries, channel, options, log } = settings
  let late = 0
  const failed = await persist(steps, options.leaseMs, async (left) => {
    const result = await deliveries.record(left)
    late += result.late
    return result.failed
  })
  if (late > 0) log.warn({ late, channel }, 'attempts were recorded too late and left out')
  const recorded = steps.filter(({ claimed }) => !failed.has(claimed.bucket))
  hintAfter(settings, recorded)
  for (const same of Map.groupBy(recorded, (step) => `${step.what} ${providerOf(step)}`).values())
    countSteps(settings, same)
  logFailed(settings, failed)
  return steps.map(() => true)
}

/** Says in which buckets something follows the steps, and when. */
function hintAfter({ hints, channel }: CompleterOptions, steps: readonly AttemptStep[]): void {
  const bucketsOf = (some: readonly AttemptStep[]) => [...new Set(some.map(({ claimed }) => claimed.bucket))]
  if (steps.length > 0) hints.onChanged(bucketsOf(steps))
  const fallbacks = steps.filter(({ next }) => next.kind === 'dead' && next.fallback)
  if (fallbacks.length > 0) hints.onDeferred(bucketsOf(fallbacks))
  for (const { claimed, next } of steps)
    if (next.kind === 'again') hints.onQueued(channel, [claimed.bucket], next.dueAt)
}

function logFailed({ log, channel }: CompleterOptions, failed: BucketErrors): void {
  for (const [bucket, err] of failed)
    log.error({ err, channel, bucket }, 'steps could not be recorded; the leases of their deliveries will end')
}

/** A delivery that expired or was deferred is not counted as an attempt. */
function countSteps({ metrics, channel }: CompleterOptions, steps: readonly AttemptStep[]): void {
  const [step] = steps
  if (step === undefined) return
  const { length } = steps
  for (const { suppressed } of steps)
    if (suppressed !== undefined) metrics.keep('suppressions', { channel, reason: suppressed.reason })
  if (step.what === 'expired') metrics.expired.inc({ channel }, length)
  else if (step.what === 'quiet_hours') metrics.quietHours.inc({ channel }, length)
  else {
    const labels = { channel, provider: providerOf(step), result: step.what }
    metrics.attempts.inc(labels, length)
    metrics.keep('attempts', labels, length)
  }
}

/** The provider that took it, else the last that was called. */
function providerOf({ acknowledged, detail }: AttemptStep): string {
  if (acknowledged !== undefined) return acknowledged.provider
  const results = (detail.results ?? []) as ReadonlyArray<{ readonly provider?: string }>
  return results.at(-1)?.provider ?? noProvider
}

async function releaseAll(settings: CompleterOptions, releases: readonly Release[]): Promise<true[]> {
  const { deliveries, channel, options, hints } = settings
  for (const same of Map.groupBy(releases, ({ dueAt, waitsSince }) => `${dueAt} ${waitsSince}`).values()) {
    const { dueAt = 0, waitsSince } = same[0] ?? {}
    const failed = await persist(same, options.leaseMs, (left) =>
      deliveries.release(
        left.map(({ claimed }) => claimed),
        dueAt,
        waitsSince,
      ),
    )
    logFailed(settings, failed)
    hints.onQueued(channel, [...new Set(same.map(({ claimed: { bucket } }) => bucket))], dueAt)
  }
  return releases.map(() => true)
}

/**
 * Does work on items, and repeats it for those of the buckets that failed, while the lease lasts, whatever the error,
 * unless the values are rejected: what is not recorded is sent again. Answers the buckets that failed to the end.
 */
async function persist<Item extends { readonly claimed: { readonly bucket: number } }>(
  items: readonly Item[],
  leaseMs: number,
  work: (items: readonly Item[]) => Promise<BucketErrors>,
): Promise<BucketErrors> {
  const deadline = performance.now() + leaseMs
  const rejected = new Map<number, unknown>()
  for (let left = items; ; ) {
    try {
      const failed = await work(left)
      for (const [bucket, error] of failed) if (isRefusedValue(error)) rejected.set(bucket, error)
      left = left.filter(({ claimed: { bucket } }) => failed.has(bucket) && !rejected.has(bucket))
      if (left.length === 0) return rejected
      if (performance.now() > deadline) return new Map([...rejected, ...failed])
    } catch (error) {
      if (performance.now() > deadline || isRefusedValue(error)) throw error
    }
    await setTimeout(persistPauseMs)
  }
}
