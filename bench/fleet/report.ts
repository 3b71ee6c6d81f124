import type { FleetOptions } from './model/options.ts'
import type { Run, Sample } from './scenario.ts'
import type { Finding } from './verdict.ts'

const everyMs = 5_000

/** One line that says what is simulated. */
export function describeFleet(options: FleetOptions): string {
  const { eventsPerSecond, processes, nodes, coresPerNode, buckets, streamGroups, seed } = options
  return (
    `${eventsPerSecond} notifications a second; ${processes} processes, ${nodes} database nodes of ${coresPerNode} cores, ` +
    `${buckets} buckets, ${streamGroups} groups of stream servers; seed ${seed}`
  )
}

const headings = [
  '    s',
  ' accept p50',
  'p99',
  'deliver p50',
  'p99 ms',
  'in stream',
  'waiting',
  'leased',
  'proc %',
  'max %',
  'db %',
  'stream %',
  'WAL MB/s',
]

/** The run as a table, a line for every five seconds. */
export function formatRun({ fleet, samples, phases }: Run): string {
  const lines = [headings.map((heading, index) => heading.padStart(widthOf(index))).join(' ')]
  for (const phase of phases) {
    lines.push(`-- ${phase.name}`)
    for (let fromMs = phase.fromMs; fromMs < phase.toMs; fromMs += everyMs) {
      const toMs = Math.min(fromMs + everyMs, phase.toMs)
      const seen = samples.filter(({ atMs }) => atMs > fromMs && atMs <= toMs)
      const { accepted, delivered } = fleet.statistics.between(fromMs, toMs)
      lines.push(
        row([
          toMs / 1_000,
          accepted.quantile(0.5),
          accepted.quantile(0.99),
          delivered.quantile(0.5),
          delivered.quantile(0.99),
          ...sampled(seen),
        ]),
      )
    }
  }
  return lines.join('\n')
}

function sampled(seen: readonly Sample[]): number[] {
  const mean = (pick: (sample: Sample) => number) => seen.reduce((sum, each) => sum + pick(each), 0) / seen.length
  return [
    Math.max(...seen.map(({ inStream }) => inStream)),
    Math.max(...seen.map(({ waiting }) => waiting)),
    Math.max(...seen.map(({ leased }) => leased)),
    100 * mean(({ processes }) => processes),
    100 * Math.max(...seen.map(({ busiestProcess }) => busiestProcess)),
    100 * mean(({ databases }) => databases),
    100 * mean(({ stream }) => stream),
    mean(({ walPerSecond }) => walPerSecond) / 1e6,
  ]
}

const widthOf = (index: number) => Math.max(8, headings[index]?.length ?? 0)

const row = (values: readonly number[]) =>
  values.map((value, index) => String(Math.round(value)).padStart(widthOf(index))).join(' ')

/** The verdict, a line for each requirement. */
export function formatFindings(findings: readonly Finding[]): string {
  return findings
    .map(({ requirement, found, holds }) => `${holds ? 'holds ' : 'FAILS '} ${requirement}: ${found}`)
    .join('\n')
}
