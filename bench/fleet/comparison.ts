import type { StepCost, StepCosts } from './model/costs.ts'
import { Fleet } from './model/fleet.ts'
import type { FleetOptions } from './model/options.ts'
import { runScenario } from './scenario.ts'

/** What one process on one PostgreSQL did at a load, or what the model says that it does. */
export interface Behaviour {
  readonly eventsPerSecond: number
  /** Processor time a second: 0.5 is half a core. */
  readonly process: number
  readonly database: number
  /** From the event to the commit of its acceptance, in milliseconds. */
  readonly acceptedP50Ms: number
}

/** Costs of a machine and what was measured on it, in one run. */
export interface Measurement {
  readonly machine: string
  readonly measured: string
  readonly accept: StepCost
  /** Claimed, sent by a provider that answers at once, recorded and numbered. */
  readonly deliver: StepCost
  /** How long a batch waits for the disk and for processors that others use, in milliseconds. */
  readonly waitMs: number
  /** Processor time a second of an idle process and its database. */
  readonly idle: { readonly process: number; readonly database: number }
  readonly behaviours: readonly Behaviour[]
}

const nothing: StepCost = {
  processBatchUs: 0,
  processUs: 0,
  databaseBatchUs: 0,
  databaseUs: 0,
  walBatchBytes: 0,
  walBytes: 0,
}

/** What the model says about one process on one PostgreSQL at a load, by the costs that were measured. */
export function predict({ accept, deliver, idle, waitMs }: Measurement, eventsPerSecond: number): Behaviour {
  const costs: StepCosts = {
    accept,
    claim: nothing,
    call: nothing,
    record: deliver,
    number: nothing,
    report: nothing,
    remove: nothing,
  }
  const options: FleetOptions = {
    seed: 1,
    eventsPerSecond,
    processes: 1,
    nodes: 1,
    coresPerNode: 2,
    buckets: 1,
    streamGroups: 1,
    coresPerStreamGroup: 2,
    messageUs: 0,
    costs,
    isPerBucket: false,
    commitMs: waitMs,
    // As one process gathers: nothing at low load, two milliseconds for acceptance, 25 for results.
    batch: { target: 1, gatherMs: 2, max: 250, recordGatherMs: 25, recordMax: 250 },
    provider: { channels: [1], latencyMs: 0.1, latencySigma: 0, slots: 500, maxLeased: 500, reportAfterMs: 1 },
    leases: { rangeMs: 10_000, renewMs: 2_000, deliveryMs: 60_000, redeliverMs: 30_000 },
  }
  const calmMs = 20_000
  const { fleet, samples, phases } = runScenario(new Fleet(options), { warmUpMs: 5_000, calmMs, drainMs: 10_000 }, [])
  const seen = samples.filter(({ phase }) => phase === 'calm')
  const mean = (pick: (sample: (typeof seen)[number]) => number) =>
    seen.reduce((sum, sample) => sum + pick(sample), 0) / seen.length
  const calm = phases.find(({ name }) => name === 'calm')
  return {
    eventsPerSecond,
    process: mean(({ processes }) => processes) + idle.process,
    database: mean(({ databases }) => databases) * options.coresPerNode + idle.database,
    acceptedP50Ms: fleet.statistics.between(calm?.fromMs ?? 0, calm?.toMs ?? 0).accepted.quantile(0.5),
  }
}

/** How far the model may be from a measurement. */
export const tolerance = { utilisation: 0.3, latencyFactor: 2 }

/** Measured and predicted, side by side; `holds` where the prediction is within the tolerance. */
export interface Comparison {
  readonly measured: Behaviour
  readonly predicted: Behaviour
  readonly holds: boolean
}

/** Compares each measured load with the model. */
export function compare(measurement: Measurement): Comparison[] {
  return measurement.behaviours.map((measured) => {
    const predicted = predict(measurement, measured.eventsPerSecond)
    const isClose = (name: 'process' | 'database') =>
      Math.abs(predicted[name] - measured[name]) <= tolerance.utilisation * measured[name]
    const factor = predicted.acceptedP50Ms / measured.acceptedP50Ms
    const isLatencyClose = factor <= tolerance.latencyFactor && factor >= 1 / tolerance.latencyFactor
    return { measured, predicted, holds: isClose('process') && isClose('database') && isLatencyClose }
  })
}
