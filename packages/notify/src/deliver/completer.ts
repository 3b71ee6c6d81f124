import { setTimeout } from 'node:timers/promises'
import { bisect, createBatcher, isRefusedValue, type Log } from '@gatehouse/kit'
import type { NotifyOptions } from '../config/options.ts'
import type { Hints } from '../context/hints.ts'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { Channel } from '../model/channel.ts'
import type { BucketErrors, Deliveries } from '../store/store.ts'
import { type AttemptStep, noProvider, type Release, type Step } from './attempt.ts'
import { createBacklog } from './claims/backlog.ts'
import { Retries } from './retries.ts'

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
/** How many claims' worth of steps may be tried again, of buckets that fail. */
const maxRetriedClaims = 20
/** How many claims' worth of them are tried at once. */
const maxTriedClaims = 4
const persistPauseMs = 250

/** Creates the completer of a channel's worker. */
export function createCompleter(settings: CompleterOptions): Completer {
  const { channel, options, log } = settings
  const backlog = createBacklog(options.claimSize * maxClaims)
  // An item of the inbox is seen only when it is recorded: it waits for few others.
  const gathering = channel === 'in-app' ? {} : { gatherMs }
  const batching = { maxBatch: options.claimSize, concurrency: 2, ...gathering, maxWaiting: Number.POSITIVE_INFINITY }
  const retrying = {
    onAbandoned: (failed: BucketErrors) => logFailed(settings, failed),
    forMs: options.leaseMs,
    maxItems: options.claimSize * maxRetriedClaims,
    maxAtOnce: options.claimSize * maxTriedClaims,
  }
  const stepRetries = new Retries<AttemptStep>({ ...retrying, work: (left) => recordSteps(settings, left) })
  const releaseRetries = new Retries<Release>({ ...retrying, work: (left) => releaseAll(settings, left) })
  const steps = createBatcher<AttemptStep, true>(async (batch) => {
    stepRetries.add(batch, await persist(() => recordSteps(settings, batch), options.leaseMs))
    return batch.map(() => true)
  }, batching)
  const releases = createBatcher<Release, true>(async (batch) => {
    releaseRetries.add(batch, await persist(() => releaseAll(settings, batch), options.leaseMs))
    return batch.map(() => true)
  }, batching)
  const logError = (error: unknown) =>
    log.error({ err: error, channel }, 'a step could not be recorded; the lease of its delivery will end')
  return {
    complete: (step) => backlog.add(('next' in step ? steps.add(step) : releases.add(step)).catch(logError)),
    waitForRoom: () => backlog.waitForRoom(),
    async drain() {
      await backlog.drain()
      await Promise.all([stepRetries.drain(), releaseRetries.drain()])
    },
  }
}

/** Answers the buckets that failed. A step whose values are rejected keeps no other of its bucket from being recorded. */
async function recordSteps(settings: CompleterOptions, steps: readonly AttemptStep[]): Promise<BucketErrors> {
  const failed = new Map(await recordTogether(settings, steps))
  for (const [bucket, error] of failed) {
    const own = steps.filter(({ claimed }) => claimed.bucket === bucket)
    if (own.length > 1 && isRefusedValue(error)) await recordApart(settings, bucket, own, failed)
  }
  return failed
}

/** Records what it can of steps of one bucket. `failed` is left with the error of one that failed, one that may pass first. */
async function recordApart(
  settings: CompleterOptions,
  bucket: number,
  steps: readonly AttemptStep[],
  failed: Map<number, unknown>,
): Promise<void> {
  const errors: unknown[] = []
  const work = async (part: readonly AttemptStep[]) => {
    const error = (await recordTogether(settings, part)).get(bucket)
    if (error !== undefined) throw error
  }
  await bisect(steps, work, { isFaultOfItem: isRefusedValue, onFailure: (error) => errors.push(error) })
  if (errors.length > 0) failed.set(bucket, errors.find((error) => !isRefusedValue(error)) ?? errors[0])
  else failed.delete(bucket)
}

/** Answers the buckets that failed. */
async function recordTogether(settings: CompleterOptions, steps: readonly AttemptStep[]): Promise<BucketErrors> {
  const { deliveries, channel, log, metrics } = settings
  const { late, deadDevices, failed } = await deliveries.record(steps)
  if (late > 0) log.warn({ late, channel }, 'attempts were recorded too late and left out')
  for (const provider of deadDevices) metrics.keep('dead_devices', { provider })
  const recorded = steps.filter(({ claimed }) => !failed.has(claimed.bucket))
  hintAfter(settings, recorded)
  for (const same of Map.groupBy(recorded, (step) => `${step.what} ${providerOf(step)}`).values())
    countSteps(settings, same)
  return failed
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

/** Answers the buckets that failed. */
async function releaseAll(settings: CompleterOptions, releases: readonly Release[]): Promise<BucketErrors> {
  const { deliveries, channel, hints } = settings
  const allFailed = new Map<number, unknown>()
  for (const same of Map.groupBy(releases, ({ dueAt, waitsSince }) => `${dueAt} ${waitsSince}`).values()) {
    const { dueAt = 0, waitsSince } = same[0] ?? {}
    const claims = same.map(({ claimed }) => claimed)
    const failed = await deliveries.release(claims, dueAt, waitsSince)
    for (const [bucket, error] of failed) allFailed.set(bucket, error)
    const released = claims.filter(({ bucket }) => !failed.has(bucket))
    if (released.length > 0) hints.onQueued(channel, [...new Set(released.map(({ bucket }) => bucket))], dueAt)
  }
  return allFailed
}

/**
 * Does work, and repeats it while the leases last where the database fails as a whole, whatever the error, unless the
 * values are rejected: what is not recorded is sent again. Where buckets fail by themselves, answers those.
 */
async function persist(work: () => Promise<BucketErrors>, leaseMs: number): Promise<BucketErrors> {
  const deadline = performance.now() + leaseMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (performance.now() > deadline || isRefusedValue(error)) throw error
    }
    await setTimeout(persistPauseMs)
  }
}
