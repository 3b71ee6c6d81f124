import { Cores } from '../engine/cores.ts'
import { Queue } from '../engine/queue.ts'
import type { Simulation } from '../engine/simulation.ts'
import { databaseMs, type StepCost, walBytes } from './costs.ts'
import type { Attempt, Delivery } from './delivery.ts'
import type { FleetOptions } from './options.ts'

/** The deliveries of a bucket that are not recorded yet. */
class BucketQueue {
  /** Waiting to be claimed, by channel. */
  readonly waiting: ReadonlyArray<Queue<Delivery>>
  readonly leased = new Set<Delivery>()
  constructor(channels: number) {
    this.waiting = Array.from({ length: channels }, () => new Queue<Delivery>())
  }
}

/** A node of the database with its standby: processor cores, and the deliveries of its buckets. */
export class DatabaseNode {
  readonly cores: Cores
  readonly index: number
  readonly #simulation: Simulation
  readonly #options: FleetOptions
  readonly #queues = new Map<number, BucketQueue>()
  #walBytes = 0
  #recorded = 0
  #fenced = 0

  constructor(simulation: Simulation, index: number, options: FleetOptions) {
    this.#simulation = simulation
    this.#options = options
    this.index = index
    this.cores = new Cores(simulation, options.coresPerNode)
  }

  /** Write-ahead log written so far, in bytes. */
  get walBytes(): number {
    return this.#walBytes
  }

  /** Deliveries recorded so far. */
  get recorded(): number {
    return this.#recorded
  }

  /** Records that came too late and changed nothing. */
  get fenced(): number {
    return this.#fenced
  }

  /** Runs a batch; `atCommit` at its commit, `onAnswer` when the process has the answer, or its failure. */
  run(cost: StepCost, count: number, atCommit: () => void, onAnswer: (isCommitted: boolean) => void): void {
    const { commitMs } = this.#options
    this.cores.submit(
      databaseMs(cost, count),
      () => {
        this.#walBytes += walBytes(cost, count)
        atCommit()
        this.#simulation.after(commitMs, () => onAnswer(true))
      },
      () => this.#simulation.after(commitMs, () => onAnswer(false)),
    )
  }

  /** Adds deliveries that a process sends next, or that wait to be claimed. */
  admit(delivery: Delivery, isLeased: boolean): void {
    if (isLeased) this.#lease(delivery)
    else this.#queueOf(delivery.cohort.bucket).waiting[delivery.channel]?.push(delivery)
  }

  /** Leases up to `max` waiting notifications of a channel in these buckets. */
  claim(buckets: readonly number[], channel: number, max: number): Attempt[] {
    const attempts: Attempt[] = []
    let room = max
    for (const bucket of buckets) {
      const queue = this.#queueOf(bucket).waiting[channel]
      for (let next = room > 0 ? queue?.shift() : undefined; next; next = room > 0 ? queue?.shift() : undefined) {
        attempts.push(this.#lease(next))
        room -= next.count
      }
    }
    return attempts
  }

  /** Records the results of attempts; those that are not current any more change nothing. */
  record(attempts: readonly Attempt[]): Delivery[] {
    return attempts.flatMap(({ delivery, number }) => {
      if (delivery.isRecorded || delivery.attempt !== number) {
        this.#fenced += delivery.count
        return []
      }
      delivery.isRecorded = true
      this.#recorded += delivery.count
      this.#queueOf(delivery.cohort.bucket).leased.delete(delivery)
      return [delivery]
    })
  }

  /** Has deliveries whose leases have expired wait again. */
  recover(buckets: readonly number[]): void {
    for (const bucket of buckets) {
      const queue = this.#queueOf(bucket)
      for (const delivery of queue.leased) {
        if (delivery.leaseUntil > this.#simulation.now) continue
        queue.leased.delete(delivery)
        delivery.attempt++
        queue.waiting[delivery.channel]?.push(delivery)
      }
    }
  }

  /** Notifications of these buckets that wait to be claimed. */
  waiting(buckets: readonly number[], channel: number): boolean {
    return buckets.some((bucket) => (this.#queues.get(bucket)?.waiting[channel]?.length ?? 0) > 0)
  }

  /** Notifications that are accepted and not recorded: waiting, and leased. */
  sizes(): { readonly waiting: number; readonly leased: number } {
    let [waiting, leased] = [0, 0]
    for (const queue of this.#queues.values()) {
      for (const channel of queue.waiting) for (const { count } of channel.all()) waiting += count
      for (const { count } of queue.leased) leased += count
    }
    return { waiting, leased }
  }

  #lease(delivery: Delivery): Attempt {
    delivery.leaseUntil = this.#simulation.now + this.#options.leases.deliveryMs
    this.#queueOf(delivery.cohort.bucket).leased.add(delivery)
    return { delivery, number: delivery.attempt }
  }

  #queueOf(bucket: number): BucketQueue {
    const known = this.#queues.get(bucket) ?? new BucketQueue(this.#options.provider.channels.length)
    this.#queues.set(bucket, known)
    return known
  }
}
