import { readFileSync } from 'node:fs'
import { type StepCost, type StepCosts, steps } from './model/costs.ts'

/** A measured cost, and where it comes from. */
export interface MeasuredCost extends StepCost {
  readonly source: string
  /** The day, as 2026-11-22. */
  readonly measured: string
}

/** One figure that is no cost of a step. */
export interface MeasuredFigure {
  readonly value: number
  readonly unit: string
  readonly source: string
  readonly measured: string
}

/** The measured figures that the simulation and docs/scale.md are computed from. */
export interface Costs {
  readonly machine: string
  readonly steps: Readonly<Record<keyof StepCosts, MeasuredCost>>
  /** The factor of a distributed PostgreSQL, for the processor time of the database, and for one batch of it. */
  readonly figures: Readonly<Record<FigureName, MeasuredFigure>>
}

/** Figures beside the steps. */
export const figureNames = [
  'messageUs',
  'distributedFactor',
  'distributedBatchUs',
  'acceptOverHttpUs',
  'storedBytes',
  'archivedBytes',
  'checkUs',
  'redisCheckUs',
  'hybridCheckUs',
] as const

export type FigureName = (typeof figureNames)[number]

const file = new URL('costs.json', import.meta.url)

/** Reads `costs.json`. @throws Error naming what is missing */
export function readCosts(): Costs {
  const costs = JSON.parse(readFileSync(file, 'utf8')) as Costs
  for (const step of steps) if (!costs.steps[step]) throw new Error(`costs.json has no cost of the step "${step}"`)
  for (const name of figureNames) if (!costs.figures[name]) throw new Error(`costs.json has no figure "${name}"`)
  return costs
}

/** The costs as they are on a distributed PostgreSQL, where a statement is for one bucket. */
export function distributedSteps({ steps: plain, figures }: Costs): StepCosts {
  const distribute = (cost: StepCost): StepCost => ({
    ...cost,
    databaseBatchUs: cost.databaseBatchUs === 0 ? 0 : figures.distributedBatchUs.value,
    databaseUs: cost.databaseUs * figures.distributedFactor.value,
  })
  return Object.fromEntries(steps.map((step) => [step, distribute(plain[step])])) as Record<keyof StepCosts, StepCost>
}
