/**
 * `npm run bench -- NAME [RUNS]` runs `scenarios/NAME.ts` and prints its result as one line of JSON, the last one. With
 * RUNS it is run so often, each in a process of its own, and each figure is printed as `[median, min, max]`.
 */
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Benchmark, BenchmarkResult } from './benchmark.ts'

const scenarios = readdirSync(join(import.meta.dirname, 'scenarios')).map((file) => file.slice(0, -'.ts'.length))
const [name = '', times = '1'] = process.argv.slice(2)
const runs = Number(times)

if (!scenarios.includes(name) || !Number.isInteger(runs) || runs < 1) {
  console.error(`npm run bench -- NAME [RUNS], where NAME is one of: ${scenarios.join(', ')}`)
  process.exitCode = 1
} else if (runs === 1) {
  const { benchmark }: { benchmark: Benchmark } = await import(`./scenarios/${name}.ts`)
  console.log(JSON.stringify(await benchmark()))
} else {
  const results: BenchmarkResult[] = []
  for (let run = 1; run <= runs; run++) {
    const result = await runAlone(name)
    console.log(`run ${run}: ${JSON.stringify(result)}`)
    results.push(result)
  }
  console.log(JSON.stringify(spread(results)))
}

/** One run in a fresh process, so that no run inherits another's heap and compiled code. */
async function runAlone(name: string): Promise<BenchmarkResult> {
  const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename, name], {
    maxBuffer: 16 * 1024 * 1024,
  })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}

/** The median of each figure, its minimum and maximum; other members are those of the first run. */
function spread(results: readonly BenchmarkResult[]): Record<string, unknown> {
  const [first] = results
  return Object.fromEntries(
    Object.entries(first ?? {}).map(([key, value]) => {
      if (typeof value !== 'number') return [key, value]
      const sorted = results.map((result) => Number(result[key])).sort((a, b) => a - b)
      return [key, [sorted[Math.floor(sorted.length / 2)], sorted[0], sorted.at(-1)]]
    }),
  )
}
