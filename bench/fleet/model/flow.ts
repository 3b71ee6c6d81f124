import { type Cohort, sizeOf, splitCohort } from './cohort.ts'
import { processMs } from './costs.ts'
import type { DatabaseNode } from './database-node.ts'
import type { Attempt, Delivery } from './delivery.ts'
import type { Sender } from './sender.ts'
import type { World } from './world.ts'

const chunkSize = 20
const maxBackoffMs = 5_000

/** The events of some buckets of one node in one process: batches to accept, deliveries to send, results to record. */
export class Flow {
  /** Buckets that the process owns at the moment. */
  readonly buckets = new Set<number>()
  readonly #world: World
  readonly #process: Sender
  readonly #node: DatabaseNode
  readonly #unrecorded: Attempt[] = []
  #ratePerMs: number
  #isAccepting = false
  #isRecording = false
  #isSweeping = false
  #failures = 0
  readonly #claiming = new Set<number>()

  constructor(world: World, process: Sender, node: DatabaseNode) {
    this.#world = world
    this.#process = process
    this.#node = node
    this.#ratePerMs = 0
  }

  /** Begins to work on what there is. */
  start(): void {
    this.#acceptNext()
    if (!this.#isSweeping) this.#sweep()
  }

  /** Whether nothing of it is being accepted. */
  get isIdle(): boolean {
    return !this.#isAccepting
  }

  /** A result that is to be recorded. */
  complete(attempt: Attempt): void {
    this.#unrecorded.push(attempt)
    this.#scheduleRecord()
  }

  #acceptNext(): void {
    if (this.#isAccepting || !this.#process.isAlive || this.buckets.size === 0) return
    this.#isAccepting = true
    const { topic, options } = this.#world
    topic.pull([...this.buckets], options.batch.max, (cohorts) => {
      if (!this.#process.isAlive) {
        topic.redeliver(cohorts)
        return
      }
      if (cohorts.length === 0) return this.#pause(options.batch.gatherMs)
      this.#accept(cohorts)
    })
  }

  #accept(cohorts: readonly Cohort[]): void {
    const { options, topic } = this.#world
    const count = sizeOf(cohorts)
    const pulled = this.#process.take(cohorts)
    this.#process.cpu.submit(processMs(options.costs.accept, count), () => {
      const isLeased = options.provider.channels.map((_, channel) => this.#process.hasRoom(channel))
      let leased: Attempt[] = []
      this.#node.run(
        options.costs.accept,
        count,
        () => {
          leased = this.#commit(cohorts, isLeased)
        },
        (isCommitted) => {
          // What a process that has died had pulled is delivered again, whether it was committed or not.
          if (!this.#process.isAlive) return
          pulled.settle()
          if (isCommitted) this.#failures = 0
          else topic.redeliver(cohorts)
          for (const attempt of leased) this.#process.send(attempt, this)
          if (isLeased.includes(false)) this.#claim()
          this.#pause(isCommitted ? this.#gatherMs(count, pulled.atMs) : this.#backoffMs())
        },
      )
    })
  }

  /** Stores what is not stored yet. Returns what is leased to the process with it. */
  #commit(cohorts: readonly Cohort[], isLeased: readonly boolean[]): Attempt[] {
    const { statistics, simulation, options, random } = this.#world
    const leased: Attempt[] = []
    for (const cohort of cohorts) {
      if (cohort.isStored) {
        statistics.repeat(cohort)
        continue
      }
      cohort.isStored = true
      statistics.accept(cohort, this.#node.index, simulation.now)
      for (const part of chunksOf(cohort)) {
        const channel = channelAt(options.provider.channels, random.uniform())
        const delivery: Delivery = {
          cohort: part,
          count: part.count,
          channel,
          attempt: 1,
          leaseUntil: 0,
          calls: 0,
          isRecorded: false,
        }
        const isMine = isLeased[channel] === true
        this.#node.admit(delivery, isMine)
        if (isMine) leased.push({ delivery, number: 1 })
      }
    }
    return leased
  }

  #pause(milliseconds: number): void {
    this.#world.simulation.after(milliseconds, () => {
      this.#isAccepting = false
      this.#acceptNext()
    })
  }

  /** How long it takes until a batch of about the target has come, by the rate seen lately. */
  #gatherMs(count: number, pulledAt: number): number {
    const { batch } = this.#world.options
    if (count >= batch.max) return 0
    const passedMs = Math.max(1, this.#world.simulation.now - pulledAt)
    const rate = count / Math.max(passedMs, batch.gatherMs)
    this.#ratePerMs = this.#ratePerMs === 0 ? rate : 0.8 * this.#ratePerMs + 0.2 * rate
    const gathered = this.#ratePerMs * passedMs
    return Math.max(0, Math.min(batch.gatherMs, (batch.target - gathered) / Math.max(this.#ratePerMs, 1e-9)))
  }

  #backoffMs(): number {
    return Math.min(maxBackoffMs, 250 * 2 ** this.#failures++)
  }

  /** Looks now and then for deliveries whose leases have expired, and for those that wait. */
  #sweep(): void {
    this.#isSweeping = this.#process.isAlive && this.buckets.size > 0
    if (!this.#isSweeping) return
    if (!this.#process.cpu.isFrozen && !this.#node.cores.isDown) {
      this.#node.recover([...this.buckets])
      this.#claim()
    }
    this.#world.simulation.after(this.#world.options.leases.renewMs, () => this.#sweep())
  }

  #claim(): void {
    for (const channel of this.#world.options.provider.channels.keys()) this.claim(channel)
  }

  /** Claims what waits for a channel where the process has room. */
  claim(channel: number): void {
    const { options } = this.#world
    const buckets = [...this.buckets]
    const room = this.#process.room(channel)
    if (room <= 0 || this.#claiming.has(channel) || !this.#node.waiting(buckets, channel)) return
    this.#claiming.add(channel)
    const max = Math.min(room, options.batch.recordMax)
    this.#process.cpu.submit(processMs(options.costs.claim, max), () => {
      let claimed: Attempt[] = []
      this.#node.run(
        options.costs.claim,
        max,
        () => {
          claimed = this.#node.claim(buckets, channel, max)
        },
        (isCommitted) => {
          this.#claiming.delete(channel)
          if (!this.#process.isAlive) return
          for (const attempt of claimed) this.#process.send(attempt, this)
          if (isCommitted) this.claim(channel)
        },
      )
    })
  }

  #scheduleRecord(): void {
    if (this.#isRecording || this.#unrecorded.length === 0) return
    this.#isRecording = true
    const { batch } = this.#world.options
    const isFull = sizeOf(this.#unrecorded.map(({ delivery }) => delivery)) >= batch.recordMax
    this.#world.simulation.after(isFull ? 0 : batch.recordGatherMs, () => this.#record())
  }

  #record(): void {
    if (!this.#process.isAlive) return
    const { options } = this.#world
    const attempts = this.#takeUnrecorded(options.batch.recordMax)
    const count = sizeOf(attempts.map(({ delivery }) => delivery))
    this.#process.cpu.submit(processMs(options.costs.record, count), () => this.#persist(attempts, count))
  }

  /** Repeats a record while its leases last; afterwards others send what is not recorded. */
  #persist(attempts: readonly Attempt[], count: number): void {
    const { options, simulation } = this.#world
    this.#node.run(
      options.costs.record,
      count,
      () => this.#follow(this.#node.record(attempts)),
      (isCommitted) => {
        if (!this.#process.isAlive) return
        const until = Math.max(...attempts.map(({ delivery }) => delivery.leaseUntil))
        if (!isCommitted && simulation.now < until) {
          simulation.after(maxBackoffMs / 20, () => this.#persist(attempts, count))
          return
        }
        for (const { delivery } of attempts) this.#process.release(delivery, this)
        this.#isRecording = false
        this.#scheduleRecord()
      },
    )
  }

  #follow(deliveries: readonly Delivery[]): void {
    const { statistics, simulation, onRecorded } = this.#world
    for (const { cohort, count } of deliveries) statistics.deliver(cohort, count, this.#node.index, simulation.now)
    onRecorded(this.#node, sizeOf(deliveries))
  }

  #takeUnrecorded(max: number): Attempt[] {
    let [end, count] = [0, 0]
    while (end < this.#unrecorded.length && count < max) count += this.#unrecorded[end++]?.delivery.count ?? 0
    return this.#unrecorded.splice(0, end)
  }
}

function chunksOf(cohort: Cohort): Cohort[] {
  const chunks: Cohort[] = []
  let rest = cohort
  while (rest.count > chunkSize) {
    const [chunk, remainder] = splitCohort(rest, chunkSize)
    chunks.push(chunk)
    rest = remainder
  }
  return [...chunks, rest]
}

function channelAt(shares: readonly number[], drawn: number): number {
  let sum = 0
  for (const [channel, share] of shares.entries()) {
    sum += share
    if (drawn < sum) return channel
  }
  return shares.length - 1
}
