/**
 * Runs the tests: `node scripts/test.ts [--long] [folder or file …]`. Prints at the end how many tests wait for a server
 * that is not installed; under REQUIRE_SERVICES=1 those fail instead. A file that is asked for by name, and each long
 * one, has a process of its own; the others share one by groups (test-groups.ts). What takes longest comes first
 * (test-order.ts). Before all others, one at a time, come those that say how long something may take where a process
 * or a connection is half dead (`*.timed.long.test.ts`): beside others they would measure these. They mostly wait, and
 * meanwhile those run that have time (`patientFiles`), at a lower priority (test-priority.ts).
 */
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { briefly } from '../testing/src/briefly.ts'
import { type Group, groupFiles, groupOfOne } from './test-groups.ts'
import { isPatient, isTimed, readDurations, sortByDuration, writeDurations } from './test-order.ts'

const root = resolve(import.meta.dirname, '..')
const cache = join(root, 'node_modules/.cache/tests')
const long = process.argv.includes('--long')
const named = process.argv
  .slice(2)
  .filter((argument) => !argument.startsWith('--'))
  .map((path) => resolve(path))
const everything = ['apps', 'packages', 'testing', 'fakes', 'scripts', 'examples', 'bench']
const found = (named.length > 0 ? named : everything.map((name) => join(root, name))).flatMap(testFiles)
const files = [...new Set(found)].filter((file) => named.includes(file) || file.endsWith('.long.test.ts') === long)

if (files.length === 0) {
  console.error(`no test file found in ${named.join(', ') || root}`)
  process.exit(1)
}

// The processes load much the same modules: the first to load one saves the others its compilation.
process.env.NODE_COMPILE_CACHE ??= cache
const waiting = new Map<string, number>()
const durations = join(cache, 'durations.json')
const known = readDurations(durations)
const measured = new Map<string, number>()
const timed = files.filter(isTimed)
const patient = timed.length > 0 ? files.filter(isPatient) : []
const others = files.filter((file) => !timed.includes(file) && !patient.includes(file))
const groups = long ? others.map(groupOfOne) : groupFiles(others, { alone: named, folder: join(cache, 'groups') })
// They wait for leases, browsers and disks too: with one process more than processors, none of these is idle.
const concurrency = Math.max(2, availableParallelism()) + 1
const givesWay = `--import=${join(import.meta.dirname, 'test-priority.ts')}`

await runAll([
  { groups: timed.map(groupOfOne), concurrency: 1, execArgv: briefly },
  { groups: patient.map(groupOfOne), concurrency: 1, execArgv: [...briefly, givesWay] },
])
await runAll([{ groups, concurrency, execArgv: briefly }])
writeDurations(durations, measured)
for (const [server, count] of waiting) console.log(`${count} tests wait for ${server}`)

/** Groups of files, of which so many run at a time, and the options of Node they run with. */
interface Part {
  readonly groups: readonly Group[]
  readonly concurrency: number
  readonly execArgv: readonly string[]
}

/** Runs parts side by side and prints what came of each, one after the other. */
async function runAll(parts: readonly Part[]): Promise<void> {
  const reports = parts.filter(({ groups }) => groups.length > 0).map(start)
  for (const report of reports) {
    report.pipe(process.stdout, { end: false })
    await once(report, 'end')
  }
}

/** Begins to run groups of files, and reports what comes of each. */
function start({ groups, concurrency, execArgv }: Part): Readable {
  const tests = run({
    files: sortByDuration(groups, known).map(({ path }) => path),
    execArgv: [...execArgv],
    concurrency,
    timeout: long ? 30 * 60_000 : 10 * 60_000,
  })
  tests.on('test:fail', () => {
    process.exitCode = 1
  })
  tests.on('test:pass', ({ skip }) => {
    const server = /^waits for (.+)$/.exec(String(skip ?? ''))?.[1]
    if (server) waiting.set(server, (waiting.get(server) ?? 0) + 1)
  })
  tests.on('test:summary', ({ file, duration_ms }) => {
    const group = groups.find(({ path }) => path === file)
    if (group) for (const member of group.files) measured.set(member, duration_ms / group.files.length)
  })
  return tests.compose(new spec())
}

function testFiles(path: string): string[] {
  if (statSync(path).isFile()) return [path]
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
    .sort()
    .map((name) => join(path, name))
}
