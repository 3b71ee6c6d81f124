import { randomUUID } from 'node:crypto'
import type { NatsConnection, Subscription } from '@nats-io/transport-node'
import { AssignedPartitions, type PartitionOwnership, sharePartitions } from '../model/partition.ts'

/** Options of {@link PartitionMembers}. */
export interface PartitionMembersOptions {
  readonly connection: NatsConnection
  /** How many partitions there are. */
  readonly partitions: number
}

/** Processes report here that they live. It belongs to no stream. */
const subject = 'notification-readers'
const reportMs = 2_000
/** So long after its last report a process counts as gone. */
const goneMs = 10_000
/** A process that begins waits so long for reports of the others before it reads anything. */
const settleMs = 1_000

interface Report {
  readonly process: string
  readonly isLeaving?: boolean
}

/**
 * Divides the partitions among the processes that report on NATS that they live. They may disagree for moments, which
 * costs repeats and no order: each partition has one consumer, which the last that claims it has.
 */
export class PartitionMembers implements PartitionOwnership {
  readonly #options: PartitionMembersOptions
  readonly #process = randomUUID()
  readonly #assigned = new AssignedPartitions()
  readonly #reportedAt = new Map<string, number>()
  readonly #subscription: Subscription
  readonly #timer: NodeJS.Timeout
  #settling: NodeJS.Timeout | undefined
  #ranAt = performance.now()

  constructor(options: PartitionMembersOptions) {
    this.#options = options
    this.#subscription = options.connection.subscribe(subject, {
      callback: (error, message) => {
        if (!error) this.#receive(message.json<Report>())
      },
    })
    this.#timer = setInterval(() => this.#run(), reportMs).unref()
    this.#settling = setTimeout(() => {
      this.#settling = undefined
      this.#share()
    }, settleMs).unref()
    this.#report()
  }

  ownedPartitions(): readonly number[] {
    return this.#assigned.ownedPartitions()
  }

  onChange(changed: () => void): () => void {
    return this.#assigned.onChange(changed)
  }

  /** Leaves the partitions to the others. Its readers are stopped before. */
  stop(): void {
    clearInterval(this.#timer)
    clearTimeout(this.#settling)
    this.#subscription.unsubscribe()
    this.#report({ isLeaving: true })
  }

  #report(more: Partial<Report> = {}): void {
    const { connection } = this.#options
    if (!connection.isClosed()) connection.publish(subject, JSON.stringify({ process: this.#process, ...more }))
  }

  #receive({ process, isLeaving = false }: Report): void {
    if (process === this.#process) return
    const isKnown = this.#reportedAt.has(process)
    if (isLeaving) this.#reportedAt.delete(process)
    else this.#reportedAt.set(process, performance.now())
    // Whoever is new learns of this process at once.
    if (!isKnown && !isLeaving) this.#report()
    if (isKnown === isLeaving) this.#share()
  }

  /** Reports, and forgets who is gone; not where this process itself stood still, and has reports to read. */
  #run(): void {
    const now = performance.now()
    const stoodStill = now - this.#ranAt > goneMs / 2
    this.#ranAt = now
    this.#report()
    if (stoodStill) return
    const gone = [...this.#reportedAt].filter(([, at]) => now - at > goneMs)
    for (const [process] of gone) this.#reportedAt.delete(process)
    if (gone.length > 0) this.#share()
  }

  #share(): void {
    if (this.#settling) return
    const processes = [this.#process, ...this.#reportedAt.keys()]
    const shares = { processes, process: this.#process, buckets: 1, ownedBuckets: new Set<number>() }
    this.#assigned.assign(sharePartitions(this.#options.partitions, shares))
  }
}
