import type { Costs } from './costs.ts'
import { databaseMs, processMs, steps, walBytes } from './model/costs.ts'
import { lifeOf, planChecks, planNotifications, plannedBatch } from './plan.ts'

const loads = [1_000, 10_000, 120_000]
const checks = [10_000, 100_000, 1_000_000]

const whole = (value: number) => Math.round(value).toLocaleString('en')
const scaled = (value: number, unit: number) => (value / unit >= 10 ? whole(value / unit) : (value / unit).toFixed(1))

const table = (headings: readonly string[], rows: ReadonlyArray<readonly string[]>, left = 1) =>
  [
    `| ${headings.join(' | ')} |`,
    `|${headings.map((_, index) => (index < left ? '---' : '---:')).join('|')}|`,
    ...rows.map((cells) => `| ${cells.join(' | ')} |`),
  ].join('\n')

/** The computed tables of docs/scale.md, by the names of their markers. */
export function tablesOf(costs: Costs): Readonly<Record<string, string>> {
  return {
    steps: stepsTable(costs),
    figures: figuresTable(costs),
    machines: machinesTable(costs),
    checks: checksTable(costs),
  }
}

function stepsTable(costs: Costs): string {
  const life = lifeOf(costs.steps)
  const each = (value: number) => whole(value / plannedBatch)
  const rows = steps.map((step) => {
    const cost = costs.steps[step]
    return [
      step,
      cost.source,
      cost.measured,
      each(processMs(cost, plannedBatch) * 1_000),
      each(databaseMs(cost, plannedBatch) * 1_000),
      each(walBytes(cost, plannedBatch)),
    ]
  })
  const sum = [
    '**the whole life**, without claims',
    'sum',
    '',
    whole(life.processUs),
    whole(life.databaseUs),
    whole(life.wal),
  ]
  return table(['Step', 'Source', 'Measured', 'Process µs', 'PostgreSQL µs', 'WAL bytes'], [...rows, sum], 3)
}

function figuresTable({ figures }: Costs): string {
  return table(
    ['Figure', 'Of', 'Source', 'Measured'],
    Object.values(figures).map(({ value, unit, source, measured }) => [whole10(value), unit, source, measured]),
    4,
  )
}

const whole10 = (value: number) => (Number.isInteger(value) ? whole(value) : String(value))

function machinesTable(costs: Costs): string {
  const plans = loads.map((load) => planNotifications(costs, load))
  const row = (name: string, pick: (plan: (typeof plans)[number]) => string) => [name, 'arithmetic', ...plans.map(pick)]
  return table(
    ['Notifications a second', 'Shown by', ...loads.map(whole)],
    [
      row('processes, one core each', ({ processes }) => whole(processes)),
      row('cores of PostgreSQL', ({ databaseCores }) => whole(databaseCores)),
      row('database nodes of 12 cores, each with a standby', ({ databaseNodes }) => whole(databaseNodes)),
      row('cores of a distributed PostgreSQL instead', ({ distributedCores }) => whole(distributedCores)),
      row('write-ahead log, MB/s', ({ walPerSecond }) => scaled(walPerSecond, 1e6)),
      row('storage, GB a day of retention', ({ storedPerDay }) => whole(storedPerDay / 1e9)),
      row('archive of state changes, GB a day', ({ archivedPerDay }) => whole(archivedPerDay / 1e9)),
      row('JetStream for events in, groups of 3 × 4 cores', ({ streamGroups }) => whole(streamGroups)),
      row('JetStream for state changes out, groups of 3 × 4 cores', ({ changeGroups }) => whole(changeGroups)),
      row('connections without a pooler', ({ connections }) => whole(connections)),
    ],
    2,
  )
}

function checksTable(costs: Costs): string {
  const plans = checks.map((load) => planChecks(costs, load))
  const row = (name: string, pick: (plan: (typeof plans)[number]) => number) => [
    name,
    'arithmetic',
    ...plans.map((plan) => whole(pick(plan))),
  ]
  return table(
    ['Checks a second', 'Shown by', ...checks.map(whole)],
    [
      row('exact: cores of processes', ({ exactProcesses }) => exactProcesses),
      row('exact: Redis primaries, each with a replica', ({ redisPrimaries }) => redisPrimaries),
      row('hybrid: cores of processes', ({ hybridProcesses }) => hybridProcesses),
    ],
    2,
  )
}

const marked = /(<!-- computed: (\w+) -->)[\s\S]*?(<!-- end -->)/g

/** The page with its tables computed again. @throws Error naming a marker without a table */
export function fillIn(page: string, tables: Readonly<Record<string, string>>): string {
  return page.replace(marked, (_, begin: string, name: string, end: string) => {
    const found = tables[name]
    if (found === undefined) throw new Error(`there is no table "${name}"`)
    return `${begin}\n\n${found}\n\n${end}`
  })
}
