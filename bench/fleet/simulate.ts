/**
 * `npm run simulate:fleet [-- --engine plain|distributed] [--rate N] [--processes N] [--nodes N] [--cores N] [--buckets N]
 * [--seed N]`: a fleet under load, through failures. Prints queues, utilisation and latency over time, and a verdict; exits
 * with 1 when a requirement does not hold.
 */
import { parseArgs } from 'node:util'
import { readCosts } from './costs.ts'
import { designFleet, type Engine } from './defaults.ts'
import { Fleet } from './model/fleet.ts'
import { describeFleet, formatFindings, formatRun } from './report.ts'
import { runScenario } from './scenario.ts'
import { findingsOf } from './verdict.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'plain' },
    seed: { type: 'string', default: '1' },
    rate: { type: 'string' },
    processes: { type: 'string' },
    nodes: { type: 'string' },
    cores: { type: 'string' },
    buckets: { type: 'string' },
  },
})

if (values.engine !== 'plain' && values.engine !== 'distributed')
  throw new Error(`--engine is plain or distributed, not "${values.engine}"`)
const design = designFleet(readCosts(), values.engine satisfies Engine, Number(values.seed))
const options = {
  ...design,
  eventsPerSecond: Number(values.rate ?? design.eventsPerSecond),
  processes: Number(values.processes ?? design.processes),
  nodes: Number(values.nodes ?? design.nodes),
  coresPerNode: Number(values.cores ?? design.coresPerNode),
  buckets: Number(values.buckets ?? design.buckets),
}
const start = performance.now()
const run = runScenario(new Fleet(options))
const findings = findingsOf(run)
console.log(describeFleet(options))
console.log(formatRun(run))
console.log(formatFindings(findings))
const { steps, now } = run.fleet.simulation
console.log(
  `${Math.round(now / 1_000)} s simulated in ${Math.round((performance.now() - start) / 1_000)} s, ${steps} steps`,
)
if (findings.some(({ holds }) => !holds)) process.exitCode = 1
