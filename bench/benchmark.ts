import { performance } from 'node:perf_hooks'

/** A benchmark prints a short table and returns the members of the line of JSON. */
export type Benchmark = () => Promise<BenchmarkResult>

export interface BenchmarkResult {
  readonly bench: string
  readonly ours: number
  readonly peer: number
  /** Ours divided by the peer; more is better. */
  readonly ratio: number
  readonly unit: string
  readonly [member: string]: number | string
}

/** How fast some work was done. */
export interface Pace {
  /** Operations per second of elapsed time. */
  readonly perSecond: number
  /** Operations per second of processor time, of all threads together. */
  readonly perCoreSecond: number
}

/** Measures work that does something `count` times. */
export async function paceOf(count: number, work: () => void | Promise<void>): Promise<Pace> {
  const cpuStart = process.cpuUsage()
  const start = performance.now()
  await work()
  const seconds = (performance.now() - start) / 1_000
  const cpu = process.cpuUsage(cpuStart)
  return { perSecond: count / seconds, perCoreSecond: count / ((cpu.user + cpu.system) / 1_000_000) }
}

/** Runs the candidates in turns, so that noise of the machine reaches all of them; returns the medians of each. */
export async function takeTurns<Name extends string>(
  rounds: number,
  candidates: Record<Name, () => Promise<Pace>>,
): Promise<Record<Name, Pace>> {
  const names = Object.keys(candidates) as Name[]
  const paces = new Map<Name, Pace[]>(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const name of names) paces.get(name)?.push(await candidates[name]())
  }
  return Object.fromEntries(names.map((name) => [name, medianPace(paces.get(name) ?? [])])) as Record<Name, Pace>
}

/** The value below which this share of the values is; NaN for none. */
export function quantileOf(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN
}

/** A ratio as the tables show it. */
export function timesAsMuch(ours: number, peer: number): number {
  return Math.round((ours / peer) * 100) / 100
}

function medianPace(paces: Pace[]): Pace {
  return {
    perSecond: median(paces.map((pace) => pace.perSecond)),
    perCoreSecond: median(paces.map((pace) => pace.perCoreSecond)),
  }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
