import type { Random } from '../engine/random.ts'
import type { Simulation } from '../engine/simulation.ts'
import type { DatabaseNode } from './database-node.ts'
import type { FleetOptions } from './options.ts'
import type { Statistics } from './statistics.ts'
import type { Topic } from './topic.ts'

/** What the parts of a fleet share. */
export interface World {
  readonly simulation: Simulation
  readonly random: Random
  readonly options: FleetOptions
  readonly statistics: Statistics
  readonly topic: Topic
  /** How many times slower the provider of a channel is than usual. */
  readonly slowness: number[]
  /** Called when so many deliveries of a node are recorded: they are numbered, reported and removed later. */
  readonly onRecorded: (node: DatabaseNode, count: number) => void
}
