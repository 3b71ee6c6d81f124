import { hashOfUser } from './user-token.ts'

/** The greatest number of partitions of the topic. */
export const maxPartitions = 1_024

/** Whether the topic may have so many partitions: a power of two, as the number of buckets should be where it has any. */
export function isPartitionCount(count: number): boolean {
  return Number.isInteger(count) && count >= 1 && count <= maxPartitions && (count & (count - 1)) === 0
}

/** The partition of a user in a topic of so many. */
export function partitionOfUser(userId: string, partitions: number): number {
  return hashOfUser(userId) % partitions
}

/** Which partitions of the topic this process reads. For moments two processes may both own one. */
export interface PartitionOwnership {
  ownedPartitions(): readonly number[]
  /** Calls `changed` whenever others are owned than before. Answers how to stop that. */
  onChange(changed: () => void): () => void
}

/** What is known of the processes that share the work, and of the buckets of this one. */
export interface PartitionShares {
  /** All processes that live, with this one. */
  readonly processes: readonly string[]
  /** This process. */
  readonly process: string
  /** How many buckets there are. */
  readonly buckets: number
  /** The buckets of this process, where each has one owner. */
  readonly ownedBuckets: ReadonlySet<number>
}

/**
 * The partitions of this process. Where there are buckets for all processes, a partition belongs to the owner of a
 * bucket: both divide users by the same hash, so that with powers of two and at least as many partitions as buckets all
 * users of a partition are of that bucket. Otherwise the processes take partitions in turns.
 */
export function sharePartitions(partitions: number, shares: PartitionShares): readonly number[] {
  const { processes, process, buckets, ownedBuckets } = shares
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  if (buckets > 1 && buckets >= processes.length)
    return all.filter((partition) => ownedBuckets.has(partition % buckets))
  const living = processes.toSorted()
  const place = living.indexOf(process)
  return all.filter((partition) => partition % living.length === place)
}

/** An ownership that is said what is owned. */
export class AssignedPartitions implements PartitionOwnership {
  readonly #listeners = new Set<() => void>()
  #owned: readonly number[] = []

  ownedPartitions(): readonly number[] {
    return this.#owned
  }

  onChange(changed: () => void): () => void {
    this.#listeners.add(changed)
    return () => this.#listeners.delete(changed)
  }

  /** These are owned from now on. */
  assign(partitions: readonly number[]): void {
    if (partitions.join() === this.#owned.join()) return
    this.#owned = partitions
    for (const changed of this.#listeners) changed()
  }
}
