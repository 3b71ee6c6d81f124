/** What a step of a notification costs: once for a batch, and for each notification in it. */
export interface StepCost {
  /** Processor time of one of our processes, in microseconds. */
  readonly processBatchUs: number
  readonly processUs: number
  /** Processor time of the database, in microseconds. */
  readonly databaseBatchUs: number
  readonly databaseUs: number
  /** Write-ahead log, in bytes. */
  readonly walBatchBytes: number
  readonly walBytes: number
}

/** The steps of a notification's life, in their order. */
export const steps = ['accept', 'claim', 'call', 'record', 'number', 'report', 'remove'] as const

export type StepName = (typeof steps)[number]

export type StepCosts = Readonly<Record<StepName, StepCost>>

/** The processor time of a process for a batch, in milliseconds. */
export function processMs(cost: StepCost, count: number): number {
  return (cost.processBatchUs + cost.processUs * count) / 1_000
}

/** The processor time of the database for a batch, in milliseconds. */
export function databaseMs(cost: StepCost, count: number): number {
  return (cost.databaseBatchUs + cost.databaseUs * count) / 1_000
}

/** The write-ahead log of a batch, in bytes. */
export function walBytes(cost: StepCost, count: number): number {
  return cost.walBatchBytes + cost.walBytes * count
}
