import type { TopicReach } from '../model/work/topic.ts'
import type { DueWork } from '../model/work/work-kind.ts'

/** The right of a process to work in a bucket. The fence grows with each change of owner. */
export interface BucketLease {
  readonly bucket: number
  readonly owner: string | undefined
  readonly fence: number
}

/** The processes that live and the leases of all buckets, as they are after a process renewed its own. */
export interface LeaseTable {
  readonly processes: readonly string[]
  /** Those of them to which partitions of the topic belong. */
  readonly readers: readonly string[]
  /** Grows whenever a process comes or goes, or becomes a reader or no more: two that know the same one know the same. */
  readonly generation: number
  /** Whether this call found that others are gone, or made them readers no more, which nobody has announced yet. */
  readonly foundGone: boolean
  readonly leases: readonly BucketLease[]
}

/**
 * Who works in which bucket. A process is known while it renews; when it does not, its leases are free, and it never gets
 * them back under its old id. Ownership keeps processes out of each other's way; that each thing is done once rests on
 * the leases of the rows alone.
 */
export interface Ownership {
  /** Makes a process known for a time, as a reader of the topic unless it has lost that. */
  join(process: string, leaseMs: number, reach: TopicReach): Promise<void>
  /**
   * Makes it known for longer; undefined when its time had ended. Those that have lost the topic are readers until another
   * renews that reaches it for certain: while nobody does, all readers stay. One that has not lost it is a reader again.
   */
  renew(process: string, leaseMs: number, reach: TopicReach): Promise<LeaseTable | undefined>
  /** Takes those of these leases that are as they were read, and free; answers what it got, with new fences. */
  acquire(
    process: string,
    leases: ReadonlyArray<Pick<BucketLease, 'bucket' | 'fence'>>,
  ): Promise<readonly BucketLease[]>
  /** Frees leases of the process. */
  release(process: string, buckets: readonly number[]): Promise<void>
  /** Frees all of them, and the process is known no more. */
  leave(process: string): Promise<void>
}

/** Handlers of hints from other processes. */
export interface HintHandlers {
  onHints(hints: readonly string[]): void
  /** Called when hints may have been missed. */
  onGap(): void
}

/** Hints between processes, outside of transactions: they go together, some of them may get lost. */
export interface HintExchange {
  /** Sends hints to the other processes, soon. */
  publish(hints: Iterable<string>): void
  /** Listens to those of other processes until the returned function is called. */
  listen(handlers: HintHandlers): () => Promise<void>
}

/** Which buckets have something to do. */
export interface Survey {
  /** Whether buckets are on different nodes: each is then surveyed, and worked, by itself. */
  readonly apart: boolean
  /**
   * Of each kind of work and each of these buckets the first time at which something is due, in Unix milliseconds of the
   * caller's clock. What is leased is due when its lease ends. Where much is leased, and it can't be known without reading
   * all of it, that is now.
   */
  survey(buckets: readonly number[], now: number): Promise<readonly DueWork[]>
}

/** What becomes of the nodes of a distributed database. */
export interface Nodes {
  /**
   * Calls back with the buckets of a node that did not answer, once it answers again, until the returned function is
   * called.
   */
  onReturn(listener: (buckets: readonly number[]) => void): () => void
}
