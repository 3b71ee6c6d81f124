import { sizeOf } from './model/cohort.ts'
import type { Phase, Run, Sample } from './scenario.ts'

/** A requirement, what was found, and whether it holds. */
export interface Finding {
  readonly requirement: string
  readonly found: string
  readonly holds: boolean
}

/** What a run must keep. Times are in milliseconds. */
export interface Requirements {
  readonly maxUtilisation: number
  readonly acceptedP99Ms: number
  readonly deliveredP99Ms: number
  /** The p99 of what is on other nodes while one is down, as a multiple of the calm one. */
  readonly othersFactor: number
}

export const defaultRequirements: Requirements = {
  maxUtilisation: 0.75,
  acceptedP99Ms: 250,
  deliveredP99Ms: 1_000,
  othersFactor: 2,
}

/** Compares a run with what it must keep. */
export function findingsOf(run: Run, requirements: Requirements = defaultRequirements): Finding[] {
  return [...calm(run, requirements), ...afterFaults(run), ...others(run, requirements), ...conservation(run)]
}

const percent = (share: number) => `${Math.round(share * 100)} %`
const milliseconds = (value: number) => `${Math.round(value)} ms`

function phaseOf({ phases }: Run, name: string): Phase {
  const found = phases.find((phase) => phase.name === name)
  if (!found) throw new Error(`the run has no phase "${name}"`)
  return found
}

function calm(run: Run, { maxUtilisation, acceptedP99Ms, deliveredP99Ms }: Requirements): Finding[] {
  const { fromMs, toMs } = phaseOf(run, 'calm')
  const { accepted, delivered } = run.fleet.statistics.between(fromMs, toMs)
  const samples = run.samples.filter(({ phase }) => phase === 'calm')
  const mean = (pick: (sample: Sample) => number) => samples.reduce((sum, each) => sum + pick(each), 0) / samples.length
  const below = (name: string, share: number): Finding => ({
    requirement: `calm: ${name} use at most ${percent(maxUtilisation)}`,
    found: percent(share),
    holds: share <= maxUtilisation,
  })
  return [
    below(
      'processes',
      mean(({ processes }) => processes),
    ),
    below(
      'database cores',
      mean(({ databases }) => databases),
    ),
    below(
      'stream cores',
      mean(({ stream }) => stream),
    ),
    {
      requirement: `calm: accepted within ${acceptedP99Ms} ms (p99)`,
      found: milliseconds(accepted.quantile(0.99)),
      holds: accepted.quantile(0.99) <= acceptedP99Ms,
    },
    {
      requirement: `calm: delivered and recorded within ${deliveredP99Ms} ms (p99)`,
      found: milliseconds(delivered.quantile(0.99)),
      holds: delivered.quantile(0.99) <= deliveredP99Ms,
    },
  ]
}

/** At the end of the time after each failure, queues are as short as in the calm. */
function afterFaults(run: Run): Finding[] {
  const calmSize = Math.max(...run.samples.filter(({ phase }) => phase === 'calm').map(queued))
  return run.phases.flatMap((phase, index) => {
    const after = run.phases[index + 1]
    if (!phase.fault || !after) return []
    const samples = run.samples.filter(({ atMs }) => atMs > after.fromMs && atMs <= after.toMs)
    const recovered = samples.findIndex((sample) => queued(sample) <= 2 * calmSize)
    const seconds = Math.round((after.toMs - after.fromMs) / 1_000)
    return [
      {
        requirement: `${phase.name}: queues are short again within ${seconds} s`,
        found: recovered < 0 ? `${queued(samples.at(-1) as Sample)} wait` : `after ${recovered + 1} s`,
        holds: recovered >= 0,
      },
    ]
  })
}

const queued = ({ inStream, waiting }: Sample) => inStream + waiting

/** While one node is down, what is on the others is as fast as ever. */
function others(run: Run, { othersFactor }: Requirements): Finding[] {
  const { fromMs, toMs } = phaseOf(run, 'calm')
  const usual = run.fleet.statistics.between(fromMs, toMs).delivered.quantile(0.99)
  return run.phases.flatMap((phase) => {
    const lost = phase.fault?.node
    if (lost === undefined) return []
    const { delivered } = run.fleet.statistics.between(phase.fromMs, phase.toMs, (node) => node !== lost)
    const p99 = delivered.quantile(0.99)
    return [
      {
        requirement: `${phase.name}: p99 on the other nodes at most ${othersFactor} × the calm one`,
        found: milliseconds(p99),
        holds: p99 <= othersFactor * usual,
      },
    ]
  })
}

function conservation({ fleet }: Run): Finding[] {
  const { published } = fleet.topic
  const left = sizeOf(fleet.nodes.map((node) => ({ count: node.sizes().waiting + node.sizes().leased })))
  return [
    {
      requirement: 'every published event is accepted once',
      found: `${published} published, ${fleet.statistics.accepted} accepted, ${fleet.statistics.duplicates} repetitions recognised`,
      holds: fleet.statistics.accepted === published,
    },
    {
      requirement: 'every accepted notification is recorded as delivered once',
      found: `${fleet.recorded} recorded, ${left} left, ${fleet.statistics.sentAgain} handed to a provider a second time`,
      holds: fleet.recorded === published && left === 0,
    },
  ]
}
