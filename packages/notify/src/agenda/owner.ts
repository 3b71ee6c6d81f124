import { randomUUID } from 'node:crypto'
import { type Log, startWorker, type Worker } from '@gatehouse/kit'
import type { LeaseTable, Ownership } from '../store/ownership.ts'
import { divideBuckets } from './shares.ts'

/** What the worker that acquires buckets for this process needs. */
export interface OwnerOptions {
  readonly ownership: Ownership
  /** How many buckets there are. */
  readonly count: number
  /** For how long a process that says nothing more keeps its buckets, in milliseconds. */
  readonly leaseMs: number
  readonly log: Log
  /** Called with the buckets in which this process works from now on. */
  readonly onOwned: (buckets: readonly number[]) => void
  /** Called with the number of processes that share the work. */
  readonly onProcesses: (count: number) => void
  /** Has the other processes look at the leases now. */
  readonly announce: () => void
}

/** A process renews its leases so often in the time that they last. */
const renewalsPerLease = 3

/**
 * Starts the worker that keeps this process' fair share of the buckets: it renews what it has, gives up what is above its
 * share, and acquires what is free. Without a renewal in time nothing is worked in any more.
 */
export function startOwner(options: OwnerOptions): Worker {
  const { leaseMs, log } = options
  const owner = new Owner(options)
  const pass = async (): Promise<boolean> => {
    try {
      await owner.renew()
    } catch (error) {
      log.warn({ err: error }, 'the leases of this process could not be renewed; they are renewed later, or end')
    }
    return false
  }
  const worker = startWorker({ name: 'buckets', log, pass, idleMs: leaseMs / renewalsPerLease })
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
  /** A process that was not heard of for too long comes back under another id, so that nothing is taken for its own. */
  #process = randomUUID()
  #hasJoined = false
  #owned: readonly number[] = []
  #end: NodeJS.Timeout | undefined

  constructor(options: OwnerOptions) {
    this.#options = options
  }

  async renew(): Promise<void> {
    const { ownership, leaseMs, announce, onProcesses } = this.#options
    const begun = performance.now()
    const table = (this.#hasJoined && (await ownership.renew(this.#process, leaseMs))) || (await this.#join())
    this.#lastUntil(begun + leaseMs)
    onProcesses(table.processes.length)
    if (await this.#share(table)) announce()
  }

  async leave(): Promise<void> {
    clearTimeout(this.#end)
    this.#own([])
    if (!this.#hasJoined) return
    this.#hasJoined = false
    await this.#options.ownership.leave(this.#process)
    this.#options.announce()
  }

  async #join(): Promise<LeaseTable> {
    const { ownership, leaseMs, announce } = this.#options
    this.#own([])
    if (this.#hasJoined) this.#process = randomUUID()
    await ownership.join(this.#process, leaseMs)
    this.#hasJoined = true
    announce()
    const table = await ownership.renew(this.#process, leaseMs)
    if (!table) throw new Error('the process was forgotten while it joined')
    return table
  }

  /** Gives up and acquires what its share says; answers whether others may now acquire something. */
  async #share({ processes, leases }: LeaseTable): Promise<boolean> {
    const { ownership, count } = this.#options
    const living = new Set(processes)
    const owners = new Map(
      leases.flatMap(
        ({ bucket, owner }): Array<[number, string]> =>
          owner !== undefined && living.has(owner) ? [[bucket, owner]] : [],
      ),
    )
    const shares = divideBuckets({ count, processes, owners })
    if (!shares) {
      this.#own(leases.map(({ bucket }) => bucket))
      return false
    }
    const isMine = ({ bucket }: { readonly bucket: number }) => shares.get(bucket) === this.#process
    const current = leases.filter(({ bucket }) => owners.get(bucket) === this.#process)
    const kept = current.filter(isMine).map(({ bucket }) => bucket)
    const surplus = current.filter((lease) => !isMine(lease)).map(({ bucket }) => bucket)
    this.#own(kept)
    if (surplus.length > 0) await ownership.release(this.#process, surplus)
    const free = leases.filter((lease) => isMine(lease) && !owners.has(lease.bucket))
    if (free.length > 0) {
      const acquired = await ownership.acquire(this.#process, free)
      this.#own([...kept, ...acquired.map(({ bucket }) => bucket)])
    }
    return surplus.length > 0
  }

  #own(buckets: readonly number[]): void {
    const sorted = buckets.toSorted((a, b) => a - b)
    if (sorted.join() === this.#owned.join()) return
    this.#owned = sorted
    this.#options.onOwned(sorted)
  }

  /** Ends the ownership at a time of `performance.now()`, also when nothing more is known of the database. */
  #lastUntil(time: number): void {
    clearTimeout(this.#end)
    this.#end = setTimeout(() => this.#own([]), time - performance.now()).unref()
  }
}
