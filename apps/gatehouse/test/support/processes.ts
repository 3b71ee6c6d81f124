/** The program as a supervisor with workers, on PostgreSQL and Redis. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, startPostgres, startRedis, temporaryFolder } from '@gatehouse/testing'
import { loadConfiguration } from './load.ts'
import { launch, type Program } from './program.ts'

export interface Supervised extends Program {
  /** The configuration file of the program. */
  readonly file: string
  readonly database: Database
}

export interface SupervisedOptions {
  readonly processes: number
  /** The configuration. Default: that of the tests under load. */
  readonly configuration?: string
  readonly env?: Readonly<Record<string, string>>
  /** Serves metrics on a listener of their own. Default true. */
  readonly metrics?: boolean
  /** What is done while it starts. */
  readonly whileStarting?: (program: Program, file: string) => Promise<void>
}

/** Starts the program with several workers; it and its servers end with the test. */
export async function startSupervised(t: TestContext, options: SupervisedOptions): Promise<Supervised> {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()])
  const database = await postgresDatabase(postgres)
  const { rows } = await database.query<{ name: string }>('SELECT current_database() AS name')
  t.after(async () => {
    await database.close()
    await Promise.all([postgres.stop(), redis.stop()])
  })
  const file = join(temporaryFolder('processes'), 'gatehouse.yaml')
  writeFileSync(file, options.configuration ?? loadConfiguration)
  const program = await launch({
    metrics: options.metrics ?? true,
    env: {
      GATEHOUSE_CONFIG: file,
      DATABASE_URL: postgres.url.replace(/[^/]+$/, rows[0]?.name ?? ''),
      REDIS_URL: redis.url,
      ENCRYPTION_KEY: 'an-encryption-key-of-this-test-alone-1234',
      PROCESSES: String(options.processes),
      ...options.env,
    },
  })
  t.after(async () => {
    const workers = workersOf(program)
    program.process.kill('SIGKILL')
    for (const pid of workers) signalIfRunning(pid, 'SIGKILL')
    await program.ended
  })
  await options.whileStarting?.(program, file)
  await program.printed('is ready after')
  return { ...program, file, database }
}

/** The process ids of the workers, in no order. */
export function workersOf({ process: { pid } }: Pick<Program, 'process'>): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    return children === '' ? [] : children.split(' ').map(Number)
  } catch {
    return []
  }
}

export function isRunning(pid: number): boolean {
  try {
    // A process that ended stays in the table until its parent has read its exit code.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** How many files and connections a process that runs may have open from now on. */
export function limitDescriptors(pid: number, maxDescriptors: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${maxDescriptors}:`])
}

export function signalIfRunning(pid: number, signal: NodeJS.Signals): void {
  if (isRunning(pid)) process.kill(pid, signal)
}

/** Resolves once `condition` holds. @throws Error naming `what` after `maxMs` */
export async function until(what: string, maxMs: number, condition: () => Promise<boolean> | boolean): Promise<void> {
  const giveUpAt = performance.now() + maxMs
  while (!(await condition())) {
    if (performance.now() > giveUpAt) throw new Error(`not within ${maxMs} ms: ${what}`)
    await turn()
  }
}

/** The metrics of all workers: the value of each series. */
export async function readMetrics({ metricsUrl }: Pick<Program, 'metricsUrl'>): Promise<Map<string, number>> {
  const text = await (await fetch(metricsUrl)).text()
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

/** Names of the workers that do not respond. */
export async function missingWorkers(program: Pick<Program, 'metricsUrl'>): Promise<string[]> {
  const metrics = await readMetrics(program)
  return [...metrics].flatMap(([series, value]) =>
    value === 0 ? (/^gatehouse_worker_up\{worker="(\d+)"\}$/.exec(series)?.[1] ?? []) : [],
  )
}

/** Resolves once as many workers respond as there should be. */
export function complete(program: Program, processes: number, maxMs = 180_000): Promise<void> {
  return until('all workers respond', maxMs, async () => {
    const [missing, running] = [await missingWorkers(program), workersOf(program).length]
    return missing.length === 0 && running === processes
  })
}

/** Series that only grow, with a lower value than before. */
export function lowered(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): string[] {
  return [...before]
    .filter(([series, value]) => isCumulative(series) && (after.get(series) ?? 0) < value)
    .map(([series, value]) => `${series}: ${value} to ${after.get(series)}`)
}

function isCumulative(series: string): boolean {
  return /_(total|bucket|sum|count)(\{|$)/.test(series) && !/^nodejs_active_/.test(series)
}
