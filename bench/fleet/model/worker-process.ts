import { Cores } from '../engine/cores.ts'
import { Queue } from '../engine/queue.ts'
import type { Cohort } from './cohort.ts'
import { processMs } from './costs.ts'
import type { DatabaseNode } from './database-node.ts'
import type { Attempt, Delivery } from './delivery.ts'
import { Flow } from './flow.ts'
import type { Completer, Pulled, Sender } from './sender.ts'
import type { World } from './world.ts'

interface Call {
  readonly attempt: Attempt
  readonly completer: Completer
}

/** One of our processes: one core, the flows of the buckets that it owns, and slots for calls of providers. */
export class WorkerProcess implements Sender {
  readonly cpu: Cores
  readonly flows = new Map<number, Flow>()
  readonly index: number
  /** When its leases on ranges end. */
  leasedUntil = 0
  isAlive = true
  /** Whether it is to take no further buckets and to give up those it owns. */
  isDraining = false
  readonly #world: World
  readonly #pulled = new Set<Pulled>()
  readonly #calls: ReadonlyArray<Queue<Call>>
  readonly #calling: number[]
  readonly #leased: number[]

  constructor(world: World, index: number) {
    this.#world = world
    this.index = index
    this.cpu = new Cores(world.simulation, 1)
    const { channels } = world.options.provider
    this.#calls = channels.map(() => new Queue<Call>())
    this.#calling = channels.map(() => 0)
    this.#leased = channels.map(() => 0)
  }

  /** The buckets that it owns. */
  get buckets(): number[] {
    return [...this.flows.values()].flatMap(({ buckets }) => [...buckets])
  }

  /** Notifications leased to it that are not recorded. */
  get leased(): number {
    return this.#leased.reduce((sum, each) => sum + each, 0)
  }

  own(bucket: number, node: DatabaseNode): void {
    const key = this.#world.options.isPerBucket ? bucket : node.index
    const flow = this.flows.get(key) ?? new Flow(this.#world, this, node)
    this.flows.set(key, flow)
    const isNew = flow.buckets.size === 0
    flow.buckets.add(bucket)
    if (isNew) flow.start()
  }

  disown(bucket: number): void {
    for (const flow of this.flows.values()) flow.buckets.delete(bucket)
  }

  take(cohorts: readonly Cohort[]): Pulled {
    const pulled: Pulled = { cohorts, atMs: this.#world.simulation.now, settle: () => this.#pulled.delete(pulled) }
    this.#pulled.add(pulled)
    return pulled
  }

  /** How many more notifications of a channel may be leased to it. */
  room(channel: number): number {
    return this.#world.options.provider.maxLeased - (this.#leased[channel] ?? 0)
  }

  hasRoom(channel: number): boolean {
    return this.room(channel) > 0
  }

  /** Sends a delivery that is leased to it, as soon as a slot is free. */
  send(attempt: Attempt, completer: Completer): void {
    const { channel, count } = attempt.delivery
    this.#leased[channel] = (this.#leased[channel] ?? 0) + count
    this.#calls[channel]?.push({ attempt, completer })
    this.#callNext(channel)
  }

  /** A delivery that it has recorded, or given up. */
  release({ channel, count }: Delivery, completer: Completer): void {
    this.#leased[channel] = (this.#leased[channel] ?? 0) - count
    completer.claim(channel)
  }

  /** Ends at once. What it has pulled is delivered again in time. */
  kill(): void {
    this.isAlive = false
    this.#redeliverLater()
    this.cpu.fail()
  }

  /** Stops for a time and continues as if nothing had been. */
  freeze(milliseconds: number): void {
    this.cpu.freeze(milliseconds)
    this.#redeliverLater()
  }

  /** What is not acknowledged in time goes to whoever owns its bucket then. */
  #redeliverLater(): void {
    const { simulation, topic, options } = this.#world
    for (const pulled of this.#pulled)
      simulation.after(pulled.atMs + options.leases.redeliverMs - simulation.now, () => {
        if (this.#pulled.delete(pulled)) topic.redeliver(pulled.cohorts)
      })
  }

  #callNext(channel: number): void {
    const { provider, costs } = this.#world.options
    while ((this.#calling[channel] ?? 0) < provider.slots) {
      const call = this.#calls[channel]?.shift()
      if (!call) return
      const { delivery } = call.attempt
      this.#calling[channel] = (this.#calling[channel] ?? 0) + delivery.count
      this.cpu.submit(processMs(costs.call, delivery.count), () => this.#call(call))
    }
  }

  /** What has not enough of its lease left is not sent: somebody else may have it. */
  #call({ attempt, completer }: Call): void {
    const { simulation, random, statistics, options, slowness } = this.#world
    const { delivery } = attempt
    const { latencyMs, latencySigma } = options.provider
    const takesMs = random.logNormal(latencyMs, latencySigma) * (slowness[delivery.channel] ?? 1)
    const isCurrent = delivery.attempt === attempt.number && delivery.leaseUntil > simulation.now
    if (!isCurrent) {
      this.#endCall(delivery)
      this.release(delivery, completer)
      return
    }
    if (delivery.calls++ > 0) statistics.sendAgain(delivery.count)
    simulation.after(takesMs, () => {
      if (!this.isAlive) return
      this.#endCall(delivery)
      completer.complete(attempt)
    })
  }

  #endCall({ channel, count }: Delivery): void {
    this.#calling[channel] = (this.#calling[channel] ?? 0) - count
    this.#callNext(channel)
  }
}
