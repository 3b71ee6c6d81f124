import { type Costs, distributedSteps } from './costs.ts'
import type { FleetOptions } from './model/options.ts'

/** The engine of the database: nodes of plain PostgreSQL, or one distributed PostgreSQL of as many nodes. */
export type Engine = 'plain' | 'distributed'

/** The fleet that the specification's figure asks for: 120,000 notifications a second. */
export function designFleet(costs: Costs, engine: Engine = 'plain', seed = 1): FleetOptions {
  const isPerBucket = engine === 'distributed'
  return {
    seed,
    eventsPerSecond: 120_000,
    processes: 71,
    nodes: 8,
    coresPerNode: isPerBucket ? 48 : 12,
    buckets: 256,
    streamGroups: 8,
    coresPerStreamGroup: 8,
    messageUs: costs.figures.messageUs.value,
    costs: isPerBucket ? distributedSteps(costs) : costs.steps,
    isPerBucket,
    commitMs: 3,
    batch: { target: 80, gatherMs: 50, max: 250, recordGatherMs: 25, recordMax: 250 },
    provider: {
      channels: [0.75, 0.25],
      latencyMs: 60,
      latencySigma: 0.5,
      slots: 500,
      maxLeased: 2_000,
      reportAfterMs: 2_000,
    },
    leases: { rangeMs: 15_000, renewMs: 5_000, deliveryMs: 60_000, redeliverMs: 30_000 },
  }
}
