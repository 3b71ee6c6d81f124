import { setTimeout } from 'node:timers/promises'
import { createGatherer, isRefusedValue, type Log } from '@gatehouse/kit'
import type { NotifyOptions } from '../config/options.ts'
import type { Hints } from '../context/hints.ts'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { Channel } from '../model/channel.ts'
import type { AttemptRecord, ClaimedDelivery, Deliveries } from '../store/store.ts'
import { createBacklog } from './backlog.ts'

export interface CompleterOptions {
  readonly channel: Channel
  readonly deliveries: Deliveries
  readonly options: NotifyOptions
  readonly log: Log
  readonly metrics: NotifyMetrics
  readonly hints: Pick<Hints, 'waiting' | 'changed'>
}

/** Stores what became of deliveries beside whatever else is going on. What can't be stored is left until its lease ends. */
export interface Completer {
  record(record: AttemptRecord): void
  /**
   * Gives a delivery back untried, due no sooner than `dueAt` (default: as soon as it was); it has been waiting for a
   * provider since `waitsSince`, where that is given. Both in Unix milliseconds.
   */
  returnDelivery(claimed: ClaimedDelivery, dueAt?: number, waitsSince?: number): void
  /** Resolves when storing does not lag behind. */
  waitForRoom(): Promise<void>
  /** Resolves when all of it is stored. */
  drain(): Promise<void>
}

/** How long a try waits for others when many are stored; while it does, a crash would send it again. */
const gatherMs = 25
/** How many claims' worth of tries may wait to be stored before no more are begun. */
const maxClaims = 2
const persistPauseMs = 250

interface Untried {
  readonly claimed: ClaimedDelivery
  readonly dueAt: number
  readonly waitsSince: number | undefined
}

export function createCompleter(settings: CompleterOptions): Completer {
  const { channel, options, log } = settings
  const backlog = createBacklog(options.claimSize * maxClaims)
  // An item of the inbox is seen only when it is recorded: it waits for few others.
  const gathering = channel === 'in-app' ? {} : { gatherMs }
  const together = { most: options.claimSize, lanes: 2, ...gathering, mostWaiting: Number.POSITIVE_INFINITY }
  const ended = createGatherer<AttemptRecord, true>((records) => recordAll(settings, records), together)
  const untried = createGatherer<Untried, true>((list) => releaseAll(settings, list), together)
  const aside = (work: Promise<unknown>) =>
    backlog.add(
      work.catch((error) =>
        log.error({ err: error, channel }, 'what became of a delivery could not be recorded; its lease will end'),
      ),
    )
  return {
    record: (record) => aside(ended.do(record)),
    returnDelivery: (claimed, dueAt = 0, waitsSince) => aside(untried.do({ claimed, dueAt, waitsSince })),
    waitForRoom: () => backlog.waitForRoom(),
    drain: () => backlog.drain(),
  }
}

async function recordAll(settings: CompleterOptions, records: readonly AttemptRecord[]): Promise<true[]> {
  for (const [bucket, mine] of Map.groupBy(records, ({ claimed }) => claimed.bucket)) {
    const late = await persist(() => settings.deliveries.record(bucket, mine), settings.options.leaseMs)
    if (late > 0) settings.log.warn({ late, channel: settings.channel }, 'tries were recorded too late and left out')
  }
  if (records.some(({ next }) => next.kind === 'dead' && next.fallback)) settings.hints.waiting()
  settings.hints.changed()
  for (const [what, mine] of Map.groupBy(records, (each) => each.what)) countRecorded(settings, what, mine.length)
  return records.map(() => true)
}

/** One that was held back was no attempt. */
function countRecorded({ metrics, channel }: CompleterOptions, what: string, count: number): void {
  if (what === 'expired') metrics.expired.inc({ channel }, count)
  else if (what === 'quiet_hours') metrics.quietHours.inc({ channel }, count)
  else metrics.attempts.inc({ channel, result: what }, count)
}

async function releaseAll({ deliveries, options }: CompleterOptions, untried: readonly Untried[]): Promise<true[]> {
  for (const [bucket, mine] of Map.groupBy(untried, ({ claimed }) => claimed.bucket))
    for (const [, same] of Map.groupBy(mine, ({ dueAt, waitsSince }) => `${dueAt} ${waitsSince}`)) {
      const claimed = same.map((each) => each.claimed)
      const { dueAt = 0, waitsSince } = same[0] ?? {}
      await persist(() => deliveries.release(bucket, claimed, dueAt, waitsSince), options.leaseMs)
    }
  return untried.map(() => true)
}

/**
 * What became of a claim must be stored, or it is sent again: it is tried for as long as the lease lasts, whatever the
 * error, unless the values themselves are refused.
 */
async function persist<T>(work: () => Promise<T>, leaseMs: number): Promise<T> {
  const deadline = performance.now() + leaseMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (performance.now() > deadline || isRefusedValue(error)) throw error
      await setTimeout(persistPauseMs)
    }
  }
}
