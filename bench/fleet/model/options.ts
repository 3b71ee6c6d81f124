import type { StepCosts } from './costs.ts'

/** A fleet, its load, and how it forms batches. All times are in milliseconds. */
export interface FleetOptions {
  readonly seed: number
  readonly eventsPerSecond: number
  readonly processes: number
  readonly nodes: number
  readonly coresPerNode: number
  readonly buckets: number
  /** Groups of stream servers, each with a leader and two replicas; buckets are divided among them. */
  readonly streamGroups: number
  /** Cores of the servers of a group together. */
  readonly coresPerStreamGroup: number
  /** Processor time of the group for one message, in microseconds. */
  readonly messageUs: number
  readonly costs: StepCosts
  /** Whether a statement is for one bucket (a distributed database), not for all buckets of a node. */
  readonly isPerBucket: boolean
  /** How long a commit waits for the disk, the standby and the network. */
  readonly commitMs: number
  readonly batch: BatchOptions
  readonly provider: ProviderOptions
  readonly leases: LeaseOptions
}

export interface BatchOptions {
  /** A batch to accept is gathered until it has about so many events, for at most so long. */
  readonly target: number
  readonly gatherMs: number
  readonly max: number
  readonly recordGatherMs: number
  readonly recordMax: number
}

export interface ProviderOptions {
  /** The share of each channel in all notifications; together 1. */
  readonly channels: readonly number[]
  readonly latencyMs: number
  /** The standard deviation of the logarithm of the latency. */
  readonly latencySigma: number
  /** Calls under way at once, for each process and channel. */
  readonly slots: number
  /** Deliveries leased to a process at once, for each channel; what comes beyond waits in the database. */
  readonly maxLeased: number
  /** When a provider reports the message as delivered. */
  readonly reportAfterMs: number
}

export interface LeaseOptions {
  /** Of a range of buckets, and how often it is renewed. */
  readonly rangeMs: number
  readonly renewMs: number
  /** Of a delivery that is being sent. */
  readonly deliveryMs: number
  /** A message of the stream that nobody acknowledged is delivered again after this. */
  readonly redeliverMs: number
}
