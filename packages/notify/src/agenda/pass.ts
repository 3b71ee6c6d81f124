import { bisect, isUnavailable, type Log } from '@gatehouse/kit'
import type { Agenda } from './agenda.ts'

/** What came of work in buckets. Of those in none of the lists nothing is known: they are named again. */
export interface BucketsDone {
  /** Nothing more is due in these. */
  readonly done: readonly number[]
  /** More may be due in these. */
  readonly more: readonly number[]
  /** In these the work failed, and why. */
  readonly failed?: ReadonlyMap<number, unknown>
}

/** A pass over the buckets that an agenda names. */
export interface PassOptions {
  /** Of the worker, for the log. */
  readonly name: string
  readonly agenda: Agenda
  /** Unix milliseconds. */
  readonly now: number
  readonly log: Log
  /** Whether each bucket is worked by itself, because they are on different nodes. */
  readonly apart: boolean
  /** Works in buckets together. It may throw, before anything was begun. */
  readonly work: (buckets: readonly number[]) => Promise<BucketsDone>
}

/**
 * Works in the buckets that an agenda names, those that failed before by themselves, and after the others. Where work
 * together fails, the buckets are halved until the one at fault stands alone; it backs off. Answers whether there is
 * more to do now.
 *
 * @throws when the database is unavailable, and not one of its nodes alone
 */
export async function workOnDue({ name, agenda, now, log, apart, work }: PassOptions): Promise<boolean> {
  let isMore = false
  const failures = new Map<number, unknown>()
  const workOn = async (buckets: readonly number[]) => {
    const { done, more, failed = new Map() } = await work(buckets)
    const isSound = (bucket: number) => !failed.has(bucket)
    agenda.visited(done.filter(isSound))
    agenda.visited(more.filter(isSound), now)
    if (more.some(isSound)) isMore = true
    for (const [bucket, error] of failed) failures.set(bucket, error)
  }
  const due = agenda.take(now)
  const sound = due.filter((bucket) => !agenda.isFailing(bucket))
  const failing = due.filter((bucket) => agenda.isFailing(bucket))
  const together = apart ? [] : [sound].filter(({ length }) => length > 0)
  for (const group of [...together, ...[...(apart ? sound : []), ...failing].map((bucket) => [bucket])])
    await bisect(group, workOn, {
      isFaultOfItem: (error) => !isUnavailable(error),
      onFailure(error, [bucket]) {
        if (bucket === undefined || (!apart && isUnavailable(error))) throw error
        failures.set(bucket, error)
      },
    })
  for (const bucket of failures.keys()) agenda.failed(bucket)
  const [err] = failures.values()
  if (err !== undefined)
    log.error({ err, worker: name, buckets: [...failures.keys()] }, 'buckets failed; they back off, the others go on')
  return isMore
}

/** What came of a claim of up to `limit` rows of these buckets: where it is full, the buckets it got none of are not done. */
export function claimDone(buckets: readonly number[], claimed: readonly number[], limit: number): BucketsDone {
  return claimed.length < limit ? { done: buckets, more: [] } : { done: [], more: [...new Set(claimed)] }
}

const minPauseMs = 20

/** The pause of a worker until its agenda has something, in milliseconds: at most `maxMs`. */
export function pauseUntilDue(agenda: Agenda, now: number, maxMs: number): number {
  return Math.max(minPauseMs, Math.min(maxMs, agenda.pauseAt(now)))
}
