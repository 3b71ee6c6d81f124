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

/**
 * Which partitions of the topic this process reads. For moments two processes may both think that they own one: then the
 * one with the greater generation does, and never again the other.
 */
export interface PartitionOwnership {
  ownedPartitions(): readonly number[]
  /** Grows with each process that comes or goes, or begins or ceases to read the topic. */
  readonly generation: number
  /** Calls `changed` whenever others are owned than before. Answers how to stop that. */
  onChange(changed: () => void): () => void
}

/** What a process knows of those that share the work, and of its own part of it, as long as its leases last. */
export interface WorkShare {
  /** All processes that live, with this one. */
  readonly processes: readonly string[]
  /** Those of them that read the topic: others read for one that has lost it. */
  readonly readers: readonly string[]
  /** This process. */
  readonly process: string
  /** Grows with each process that comes or goes, or begins or ceases to read the topic. */
  readonly generation: number
  /** How many buckets there are. */
  readonly buckets: number
  /** The buckets in which this process works: its own, or all of them where there are fewer than processes. */
  readonly ownedBuckets: readonly number[]
}

/**
 * The partitions of this process. Both partitions and buckets divide users by the same hash: where the number of buckets
 * divides that of partitions, all users of a partition are of one bucket, and it belongs to the owner of that. Where it
 * does not, where there are fewer buckets than processes, or where a process does not read the topic, those that do take
 * partitions in turns. Where none does, nothing is known better than that all of them will again.
 */
export function sharePartitions(partitions: number, share: WorkShare): readonly number[] {
  const { processes, process, buckets, ownedBuckets } = share
  const readers = share.readers.length > 0 ? share.readers : processes
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  if (readers.length === processes.length && buckets >= processes.length && partitions % buckets === 0) {
    const owned = new Set(ownedBuckets)
    return all.filter((partition) => owned.has(partition % buckets))
  }
  const place = readers.toSorted().indexOf(process)
  return all.filter((partition) => partition % readers.length === place)
}

/** An ownership that is said what is owned. */
export class AssignedPartitions implements PartitionOwnership {
  readonly #listeners = new Set<() => void>()
  #owned: readonly number[] = []
  #generation = 0

  get generation(): number {
    return this.#generation
  }

  ownedPartitions(): readonly number[] {
    return this.#owned
  }

  onChange(changed: () => void): () => void {
    this.#listeners.add(changed)
    return () => this.#listeners.delete(changed)
  }

  /** These are owned from now on, as is known since a generation; without one, since the same as before. */
  assign(partitions: readonly number[], generation: number = this.#generation): void {
    this.#generation = generation
    if (partitions.join() === this.#owned.join()) return
    this.#owned = partitions
    for (const changed of this.#listeners) changed()
  }
}
