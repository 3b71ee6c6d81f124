import { setTimeout } from 'node:timers/promises'
import { createBatcher, isRefusedValue, type Log } from '@gatehouse/kit'
import type { NotifyOptions } from '../config/options.ts'
import type { Hints } from '../context/hints.ts'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { Channel } from '../model/channel.ts'
import type { BucketErrors, Deliveries } from '../store/store.ts'
import type { AttemptStep, Release, Step } from './attempt.ts'
import { createBacklog } from './backlog.ts'

/** What the completer needs. */
export interface CompleterOptions {
  readonly channel: Channel
  readonly deliveries: Deliveries
  readonly options: NotifyOptions
  readonly log: Log
  readonly metrics: NotifyMetrics
  readonly hints: Pick<Hints, 'onDeferred' | 'onChanged'>
  /** Called with when deliveries that went back to the queue are due, Unix milliseconds, by bucket. */
  readonly onQueued?: (buckets: ReadonlyMap<number, number>) => void
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
  const { deliveries, channel, options, hints, log } = settings
  let late = 0
  const failed = await persist(steps, options.leaseMs, async (left) => {
    const result = await deliveries.record(left)
    late += result.late
    return result.failed
  })
  if (late > 0) log.warn({ late, channel }, 'attempts were recorded too late and left out')
  const recorded = steps.filter(({ claimed }) => !failed.has(claimed.bucket))
  if (recorded.some(({ next }) => next.kind === 'dead' && next.fallback)) hints.onDeferred()
  hints.onChanged()
  for (const [entry, { length }] of Map.groupBy(recorded, ({ what }) => what)) countSteps(settings, entry, length)
  hintQueued(
    settings,
    recorded.flatMap(({ claimed, next }) =>
      next.kind === 'again' ? { bucket: claimed.bucket, dueAt: next.dueAt } : [],
    ),
  )
  logFailed(settings, failed)
  return steps.map(() => true)
}

function hintQueued(
  { onQueued }: CompleterOptions,
  queued: ReadonlyArray<{ readonly bucket: number; readonly dueAt: number }>,
): void {
  const first = new Map<number, number>()
  for (const { bucket, dueAt } of queued) first.set(bucket, Math.min(dueAt, first.get(bucket) ?? dueAt))
  if (first.size > 0) onQueued?.(first)
}

function logFailed({ log, channel }: CompleterOptions, failed: BucketErrors): void {
  for (const [bucket, err] of failed)
    log.error({ err, channel, bucket }, 'steps could not be recorded; the leases of their deliveries will end')
}

/** A delivery that expired or was deferred is not counted as an attempt. */
function countSteps({ metrics, channel }: CompleterOptions, entry: string, count: number): void {
  if (entry === 'expired') metrics.expired.inc({ channel }, count)
  else if (entry === 'quiet_hours') metrics.quietHours.inc({ channel }, count)
  else metrics.attempts.inc({ channel, result: entry }, count)
}

async function releaseAll(settings: CompleterOptions, releases: readonly Release[]): Promise<true[]> {
  const { deliveries, options } = settings
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
    hintQueued(
      settings,
      same.map(({ claimed: { bucket } }) => ({ bucket, dueAt })),
    )
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
