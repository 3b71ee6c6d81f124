import { type Costs, distributedSteps } from './costs.ts'
import { databaseMs, processMs, type StepCosts, steps, walBytes } from './model/costs.ts'

/** How a core is planned: the rest is for peaks, checkpoints, vacuum and the loss of a machine. */
export const plannedShare = 0.6

/** The batch that the plan counts with: what comes in 50 ms at 1,000 a second. */
export const plannedBatch = 50

const coresPerNode = 12
const coresPerStreamNode = 4
const connectionsPerProcess = 12

/** What so many notifications a second take. */
export interface Plan {
  readonly eventsPerSecond: number
  readonly processes: number
  readonly databaseCores: number
  readonly databaseNodes: number
  readonly distributedCores: number
  /** Write-ahead log of all nodes, bytes a second. */
  readonly walPerSecond: number
  readonly storedPerDay: number
  readonly archivedPerDay: number
  /** Groups of three servers for the events in, and for the state changes out. */
  readonly streamGroups: number
  readonly changeGroups: number
  /** Connections to the database without a pooler. */
  readonly connections: number
}

/** Microseconds of a notification's whole life, in batches of {@link plannedBatch}. Claims are left out: they are for recovery. */
export function lifeOf(costs: StepCosts): {
  readonly processUs: number
  readonly databaseUs: number
  readonly wal: number
} {
  const own = steps.filter((step) => step !== 'claim')
  const sum = (pick: (step: (typeof own)[number]) => number) => own.reduce((all, step) => all + pick(step), 0)
  return {
    processUs: sum((step) => (processMs(costs[step], plannedBatch) * 1_000) / plannedBatch),
    databaseUs: sum((step) => (databaseMs(costs[step], plannedBatch) * 1_000) / plannedBatch),
    wal: sum((step) => walBytes(costs[step], plannedBatch) / plannedBatch),
  }
}

const cores = (perSecond: number, us: number) => Math.ceil((perSecond * us) / 1e6 / plannedShare)

/** Computes a plan from the measured costs. */
export function planNotifications(costs: Costs, eventsPerSecond: number): Plan {
  const { figures } = costs
  const life = lifeOf(costs.steps)
  const processes = Math.max(2, cores(eventsPerSecond, life.processUs))
  const databaseCores = cores(eventsPerSecond, life.databaseUs)
  const perDay = eventsPerSecond * 86_400
  const groups = (messages: number) =>
    Math.max(1, Math.ceil(cores(messages, figures.messageUs.value) / (3 * coresPerStreamNode)))
  return {
    eventsPerSecond,
    processes,
    databaseCores,
    databaseNodes: Math.ceil(databaseCores / coresPerNode),
    distributedCores: cores(eventsPerSecond, lifeOf(distributedSteps(costs)).databaseUs),
    walPerSecond: eventsPerSecond * life.wal,
    storedPerDay: perDay * figures.storedBytes.value,
    archivedPerDay: perDay * figures.archivedBytes.value,
    streamGroups: groups(eventsPerSecond),
    changeGroups: groups(eventsPerSecond * 2),
    connections: processes * connectionsPerProcess,
  }
}

/** What so many limiter checks a second take. */
export interface LimiterPlan {
  readonly checksPerSecond: number
  readonly exactProcesses: number
  readonly redisPrimaries: number
  readonly hybridProcesses: number
}

/** Computes the plan of the limiter from the measured costs. */
export function planChecks({ figures }: Costs, checksPerSecond: number): LimiterPlan {
  return {
    checksPerSecond,
    exactProcesses: cores(checksPerSecond, figures.checkUs.value),
    redisPrimaries: cores(checksPerSecond, figures.redisCheckUs.value),
    hybridProcesses: cores(checksPerSecond, figures.hybridCheckUs.value),
  }
}
