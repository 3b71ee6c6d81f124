import type { DatabaseNode } from './database-node.ts'
import type { WorkerProcess } from './worker-process.ts'
import type { World } from './world.ts'

/**
 * Who owns which bucket: leases with an expiry, kept fair. A process that comes or goes moves as few buckets as it can. A
 * process that stops renewing loses its buckets when its lease ends, whether it knows or not.
 */
export class Ownership {
  readonly #world: World
  readonly #nodeOf: (bucket: number) => DatabaseNode
  readonly #owners: Array<WorkerProcess | undefined>
  #moved = 0

  constructor(world: World, nodeOf: (bucket: number) => DatabaseNode) {
    this.#world = world
    this.#nodeOf = nodeOf
    this.#owners = Array.from({ length: world.options.buckets }, () => undefined)
  }

  /** Buckets that changed their owner so far, the first assignment included. */
  get moved(): number {
    return this.#moved
  }

  /** Buckets without an owner. */
  get orphans(): number {
    return this.#owners.filter((owner) => owner === undefined).length
  }

  ownerOf(bucket: number): WorkerProcess | undefined {
    return this.#owners[bucket]
  }

  /** One look of all processes at the leases. */
  renew(processes: readonly WorkerProcess[]): void {
    const { simulation, options } = this.#world
    for (const process of processes)
      if (process.isAlive && !process.cpu.isFrozen) process.leasedUntil = simulation.now + options.leases.rangeMs
    const isLeased = (process: WorkerProcess) => process.leasedUntil > simulation.now
    for (const [bucket, owner] of this.#owners.entries()) if (owner && !isLeased(owner)) this.#release(bucket, owner)
    const live = processes.filter((process) => process.isAlive && !process.cpu.isFrozen && !process.isDraining)
    if (live.length === 0) return
    this.#releaseExcess(live)
    for (const process of processes) if (process.isDraining) this.#releaseAll(process)
    this.#assign(live)
  }

  /** Gives up what is more than a fair share; where shares can't be equal, the larger ones stay where they are. */
  #releaseExcess(live: readonly WorkerProcess[]): void {
    const minShare = Math.floor(this.#owners.length / live.length)
    let larger = this.#owners.length % live.length
    for (const process of live.toSorted((a, b) => b.buckets.length - a.buckets.length)) {
      const mine = process.buckets
      const share = minShare + (mine.length > minShare && larger-- > 0 ? 1 : 0)
      for (const bucket of mine.slice(share)) this.#release(bucket, process)
    }
  }

  #releaseAll(process: WorkerProcess): void {
    for (const bucket of process.buckets) this.#release(bucket, process)
  }

  #release(bucket: number, owner: WorkerProcess): void {
    owner.disown(bucket)
    this.#owners[bucket] = undefined
  }

  /** A bucket goes to the owner of the one before it, so that ranges stay together, and otherwise to who has the fewest. */
  #assign(live: readonly WorkerProcess[]): void {
    const sizes = new Map(live.map((process) => [process, process.buckets.length]))
    const sizeOf = (process: WorkerProcess) => sizes.get(process) ?? 0
    const minShare = Math.floor(this.#owners.length / live.length)
    let larger = (this.#owners.length % live.length) - live.filter((process) => sizeOf(process) > minShare).length
    for (const [bucket, owner] of this.#owners.entries()) {
      if (owner) continue
      const neighbour = this.#owners[bucket - 1]
      const hasRoom = neighbour && sizes.has(neighbour) && sizeOf(neighbour) < minShare + (larger > 0 ? 1 : 0)
      const next = hasRoom ? neighbour : live.reduce((a, b) => (sizeOf(b) < sizeOf(a) ? b : a))
      if (sizeOf(next) === minShare) larger--
      sizes.set(next, sizeOf(next) + 1)
      this.#owners[bucket] = next
      this.#moved++
      next.own(bucket, this.#nodeOf(bucket))
    }
  }
}
