import { createRandom } from '../engine/random.ts'
import { Simulation } from '../engine/simulation.ts'
import { processMs, type StepCost } from './costs.ts'
import { DatabaseNode } from './database-node.ts'
import type { FleetOptions } from './options.ts'
import { Ownership } from './ownership.ts'
import { Statistics } from './statistics.ts'
import { Topic } from './topic.ts'
import { WorkerProcess } from './worker-process.ts'
import type { World } from './world.ts'

/** How long the numbers of the statistics are kept apart, in milliseconds. */
const windowMs = 1_000

/** A fleet under load. */
export class Fleet {
  readonly simulation = new Simulation()
  readonly options: FleetOptions
  readonly statistics: Statistics
  readonly topic: Topic
  readonly nodes: readonly DatabaseNode[]
  readonly processes: WorkerProcess[] = []
  readonly ownership: Ownership
  readonly world: World
  #reported = 0

  constructor(options: FleetOptions) {
    this.options = options
    const random = createRandom(options.seed)
    this.statistics = new Statistics(windowMs, options.nodes)
    this.topic = new Topic(this.simulation, random, options)
    this.nodes = Array.from({ length: options.nodes }, (_, index) => new DatabaseNode(this.simulation, index, options))
    this.world = {
      simulation: this.simulation,
      random,
      options,
      statistics: this.statistics,
      topic: this.topic,
      slowness: options.provider.channels.map(() => 1),
      onRecorded: (node, count) => this.#live(node, count),
    }
    this.ownership = new Ownership(this.world, (bucket) => this.#nodeOf(bucket))
    for (let index = 0; index < options.processes; index++) this.addProcess()
    this.#renew()
  }

  /** Deliveries that providers have reported on. */
  get reported(): number {
    return this.#reported
  }

  addProcess(): WorkerProcess {
    const process = new WorkerProcess(this.world, this.processes.length)
    this.processes.push(process)
    return process
  }

  /** Lets the time pass, without further events from producers, until everything is recorded or so long has passed. */
  drain(maxMs: number): void {
    this.topic.end()
    const until = this.simulation.now + maxMs
    while (this.simulation.now < until && this.recorded < this.topic.published)
      this.simulation.run(this.simulation.now + windowMs)
  }

  get recorded(): number {
    return this.nodes.reduce((sum, { recorded }) => sum + recorded, 0)
  }

  #renew(): void {
    this.ownership.renew(this.processes)
    this.simulation.after(this.options.leases.renewMs, () => this.#renew())
  }

  /** The rest of the life: state changes are numbered, the provider reports, and what is as old as the retention is removed. */
  #live(node: DatabaseNode, count: number): void {
    if (count === 0) return
    const { costs, provider } = this.options
    this.#repeat(node, costs.number, count)
    this.#repeat(node, costs.remove, count)
    this.simulation.after(provider.reportAfterMs, () => this.#report(node, count))
  }

  #report(node: DatabaseNode, count: number): void {
    const { costs } = this.options
    const live = this.processes.filter((process) => process.isAlive && !process.cpu.isFrozen)
    const process = live[Math.floor(this.world.random.uniform() * live.length)]
    const again = () => this.simulation.after(this.options.leases.renewMs, () => this.#report(node, count))
    if (!process) {
      again()
      return
    }
    process.cpu.submit(
      processMs(costs.report, count),
      () =>
        this.#repeat(node, costs.report, count, () => {
          this.#reported += count
        }),
      again,
    )
  }

  /** Work that is repeated for as long as its node is down. */
  #repeat(node: DatabaseNode, cost: StepCost, count: number, atCommit = () => {}): void {
    node.run(cost, count, atCommit, (isCommitted) => {
      if (!isCommitted)
        this.simulation.after(this.options.leases.renewMs, () => this.#repeat(node, cost, count, atCommit))
    })
  }

  #nodeOf(bucket: number): DatabaseNode {
    const { buckets, nodes } = this.options
    return this.nodes[Math.floor((bucket * nodes) / buckets)] as DatabaseNode
  }
}
