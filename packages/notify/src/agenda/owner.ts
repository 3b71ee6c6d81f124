import { randomUUID } from 'node:crypto'
import { type Log, startWorker, type Worker } from '@gatehouse/kit'
import type { WorkShare } from '../model/work/partition.ts'
import type { TopicReach } from '../model/work/topic.ts'
import type { LeaseTable, Ownership } from '../store/ownership.ts'
import { divideBuckets } from './shares.ts'

/** What the worker that acquires buckets for this process needs. */
export interface OwnerOptions {
  readonly ownership: Ownership
  /** How many buckets there are. */
  readonly count: number
  /** For how long a process that says nothing more keeps its buckets, in milliseconds. */
  readonly leaseMs: number
  /** Whether this process reaches the topic now. */
  readonly reach: () => TopicReach
  readonly log: Log
  /** Called with the buckets in which this process works from now on. */
  readonly onOwned: (buckets: readonly number[]) => void
  /** Called with what is known of all processes, again and again, and with undefined when the leases of this one ended. */
  readonly onShare: (share: WorkShare | undefined) => void
  /** Has the other processes look at the leases now. */
  readonly announce: () => void
}

/** A process renews its leases so often in the time that they last. */
const renewalsPerLease = 3
/** While buckets are free it looks again after this. */
const unsettledMs = 250
/** After a renewal that failed it tries again after this, doubled each time. */
const firstRetryMs = 100

/**
 * Starts the worker that keeps this process' fair share of the buckets: it renews what it has, gives up what is above its
 * share, and acquires what is free. Without a renewal in time nothing is worked in any more.
 */
export function startOwner(options: OwnerOptions): Worker {
  const { leaseMs, log } = options
  const owner = new Owner(options)
  const renewMs = leaseMs / renewalsPerLease
  let pauseMs = renewMs
  let failures = 0
  const pass = async (): Promise<boolean> => {
    try {
      pauseMs = (await owner.renew()) ? renewMs : unsettledMs
      failures = 0
    } catch (error) {
      pauseMs = firstRetryMs * 2 ** failures++
      log.warn({ err: error }, 'the leases of this process could not be renewed; they are renewed later, or end')
    }
    return false
  }
  const worker = startWorker({ name: 'buckets', log, pass, idleMs: () => Math.min(renewMs, pauseMs) })
  return {
    ...worker,
    async stop() {
      await worker.stop()
      await owner.leave().catch((error: unknown) => log.warn({ err: error }, 'leases were left to end'))
    },
  }
}

class Owner {
  readonly #options: OwnerOptions
  /** The id under which it joined last. */
  #process = ''
  #hasJoined = false
  /** Whether it reaches the topic, as it said last. */
  #reach: TopicReach = 'unsure'
  #owned: readonly number[] = []
  #end: NodeJS.Timeout | undefined
  /** When the leases end, on the clock of `performance.now()`. */
  #endsAt = 0

  constructor(options: OwnerOptions) {
    this.#options = options
  }

  /** Renews the leases and follows its share; answers whether every bucket has an owner then. */
  async renew(): Promise<boolean> {
    const { ownership, leaseMs, announce } = this.#options
    const begun = performance.now()
    const reach = this.#options.reach()
    const table =
      (this.#hasJoined && (await ownership.renew(this.#process, leaseMs, reach))) || (await this.#join(reach))
    this.#lastUntil(begun + leaseMs)
    const isNews = (reach === 'lost') !== (this.#reach === 'lost')
    this.#reach = reach
    if (table.foundGone || isNews) announce()
    return this.#share(table)
  }

  async leave(): Promise<void> {
    clearTimeout(this.#end)
    this.#endsAt = 0
    this.#ownNothing()
    if (!this.#hasJoined) return
    this.#hasJoined = false
    await this.#options.ownership.leave(this.#process)
    this.#options.announce()
  }

  /**
   * Joins under an id of its own each time: nothing that was acquired before is taken for its own, and where the response
   * to an earlier attempt was lost, the row that it may have left ends by itself.
   */
  async #join(reach: TopicReach): Promise<LeaseTable> {
    const { ownership, leaseMs, announce } = this.#options
    this.#ownNothing()
    this.#process = randomUUID()
    await ownership.join(this.#process, leaseMs, reach)
    this.#hasJoined = true
    announce()
    const table = await ownership.renew(this.#process, leaseMs, reach)
    if (!table) throw new Error('the process was forgotten while it joined')
    return table
  }

  /**
   * Gives up and acquires what its share says; answers whether nothing is free then. Processes that look one after the
   * other may each take the last free bucket for another's, so that they have to look again.
   */
  async #share(table: LeaseTable): Promise<boolean> {
    const { ownership, count, announce } = this.#options
    const { processes, leases } = table
    const living = new Set(processes)
    const owners = new Map(
      leases.flatMap(
        ({ bucket, owner }): Array<[number, string]> =>
          owner !== undefined && living.has(owner) ? [[bucket, owner]] : [],
      ),
    )
    const shares = divideBuckets({ count, processes, owners })
    if (!shares) {
      this.#own(
        leases.map(({ bucket }) => bucket),
        table,
      )
      return true
    }
    const isMine = ({ bucket }: { readonly bucket: number }) => shares.get(bucket) === this.#process
    const current = leases.filter(({ bucket }) => owners.get(bucket) === this.#process)
    const kept = current.filter(isMine).map(({ bucket }) => bucket)
    const surplus = current.filter((lease) => !isMine(lease)).map(({ bucket }) => bucket)
    this.#own(kept, table)
    if (surplus.length > 0) {
      await ownership.release(this.#process, surplus)
      announce()
    }
    const free = leases.filter(({ bucket }) => !owners.has(bucket))
    const mine = free.filter(isMine)
    const acquired = mine.length > 0 ? await ownership.acquire(this.#process, mine) : []
    if (acquired.length > 0) this.#own([...kept, ...acquired.map(({ bucket }) => bucket)], table)
    return surplus.length === 0 && acquired.length === free.length
  }

  /** Owns these, unless the leases ended while the database was asked. */
  #own(ownedBuckets: readonly number[], { processes, readers, generation }: LeaseTable): void {
    if (performance.now() >= this.#endsAt) {
      this.#ownNothing()
      return
    }
    this.#setOwned(ownedBuckets.toSorted((a, b) => a - b))
    const { count: buckets, onShare } = this.#options
    onShare({ process: this.#process, processes, readers, generation, buckets, ownedBuckets })
  }

  #ownNothing(): void {
    this.#setOwned([])
    this.#options.onShare(undefined)
  }

  #setOwned(buckets: readonly number[]): void {
    if (buckets.join() === this.#owned.join()) return
    this.#owned = buckets
    this.#options.onOwned(buckets)
  }

  /** Ends the ownership at a time of `performance.now()`, also when nothing more is known of the database. */
  #lastUntil(time: number): void {
    clearTimeout(this.#end)
    this.#endsAt = time
    const end = () => {
      this.#endsAt = 0
      this.#ownNothing()
    }
    this.#end = setTimeout(end, time - performance.now()).unref()
  }
}
