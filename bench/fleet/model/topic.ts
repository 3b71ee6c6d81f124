import { Cores } from '../engine/cores.ts'
import { Queue } from '../engine/queue.ts'
import type { Random } from '../engine/random.ts'
import type { Simulation } from '../engine/simulation.ts'
import { type Cohort, sizeOf, splitCohort } from './cohort.ts'
import type { FleetOptions } from './options.ts'

/** Messages that a server handles on one core. */
const packetSize = 50

/** A message that is not acknowledged after a failure is never divided: a copy of it may be under way. */
interface Pending {
  readonly cohort: Cohort
  readonly isRedelivered: boolean
}

/** The stream of events, partitioned by bucket, on groups of servers. Producers keep what a group does not take. */
export class Topic {
  readonly groups: readonly Cores[]
  readonly #simulation: Simulation
  readonly #random: Random
  readonly #pending: ReadonlyArray<Queue<Pending>>
  readonly #drawnUntil: Float64Array
  readonly #perBucketMs: number
  readonly #messageMs: number
  #endsAt = Number.POSITIVE_INFINITY
  #published = 0
  #turn = 0

  constructor(simulation: Simulation, random: Random, options: FleetOptions) {
    this.#simulation = simulation
    this.#random = random
    const { buckets, streamGroups, coresPerStreamGroup, eventsPerSecond, messageUs } = options
    this.groups = Array.from({ length: streamGroups }, () => new Cores(simulation, coresPerStreamGroup))
    this.#pending = Array.from({ length: buckets }, () => new Queue<Pending>())
    this.#drawnUntil = new Float64Array(buckets)
    this.#perBucketMs = eventsPerSecond / buckets / 1_000
    this.#messageMs = messageUs / 1_000
  }

  /** Events that producers have sent. */
  get published(): number {
    return this.#published
  }

  /** Producers send nothing more from now on. */
  end(): void {
    for (const bucket of this.#pending.keys()) this.#draw(bucket)
    this.#endsAt = this.#simulation.now
  }

  /** Events that wait in a bucket. */
  backlog(bucket: number): number {
    this.#draw(bucket)
    let sum = 0
    for (const { cohort } of this.#pending[bucket]?.all() ?? []) sum += cohort.count
    return sum
  }

  /** Calls `onMessages` with up to `max` of the oldest events of the buckets, none where there are none. */
  pull(buckets: readonly number[], max: number, onMessages: (cohorts: readonly Cohort[]) => void): void {
    const open = buckets.filter((bucket) => !this.#groupOf(bucket).isDown)
    // Another bucket comes first each time: where there is more than a batch, each has its turn.
    const first = open.length === 0 ? 0 : this.#turn++ % open.length
    const cohorts: Cohort[] = []
    let room = max
    for (const bucket of [...open.slice(first), ...open.slice(0, first)]) {
      if (room <= 0) break
      const pulled = this.#take(bucket, room)
      cohorts.push(...pulled)
      room -= sizeOf(pulled)
    }
    this.#transfer(cohorts, onMessages)
  }

  /** Has the groups handle the messages; those of a group that fails meanwhile stay in the stream. */
  #transfer(cohorts: readonly Cohort[], onMessages: (cohorts: readonly Cohort[]) => void): void {
    const byGroup = Map.groupBy(cohorts, ({ bucket }) => this.#groupOf(bucket))
    const received: Cohort[] = []
    let open = byGroup.size
    if (open === 0) onMessages([])
    const end = () => {
      if (--open === 0) onMessages(received)
    }
    for (const [group, mine] of byGroup) {
      const parts = Math.ceil(sizeOf(mine) / packetSize)
      group.submitParts(
        (this.#messageMs * sizeOf(mine)) / parts,
        parts,
        () => {
          received.push(...mine)
          end()
        },
        () => {
          this.redeliver(mine)
          end()
        },
      )
    }
  }

  /** Has cohorts that nobody acknowledged delivered again, before all others. */
  redeliver(cohorts: readonly Cohort[]): void {
    for (const cohort of cohorts) this.#pending[cohort.bucket]?.unshift({ cohort, isRedelivered: true })
  }

  #take(bucket: number, max: number): Cohort[] {
    this.#draw(bucket)
    const queue = this.#pending[bucket]
    const pulled: Cohort[] = []
    for (let room = max; room > 0; ) {
      const next = queue?.shift()
      if (!next) break
      const { cohort, isRedelivered } = next
      if (cohort.count <= room || isRedelivered) {
        pulled.push(cohort)
        room -= cohort.count
      } else {
        const [oldest, rest] = splitCohort(cohort, room)
        pulled.push(oldest)
        queue?.unshift({ cohort: rest, isRedelivered: false })
        break
      }
    }
    return pulled
  }

  /** Draws how many events came since the last look. */
  #draw(bucket: number): void {
    const fromMs = this.#drawnUntil[bucket] ?? 0
    const toMs = Math.min(this.#simulation.now, this.#endsAt)
    if (toMs <= fromMs) return
    this.#drawnUntil[bucket] = toMs
    const count = this.#random.poisson(this.#perBucketMs * (toMs - fromMs))
    if (count === 0) return
    this.#published += count
    this.#pending[bucket]?.push({ cohort: { bucket, fromMs, toMs, count, isStored: false }, isRedelivered: false })
  }

  #groupOf(bucket: number): Cores {
    return this.groups[bucket % this.groups.length] as Cores
  }
}
