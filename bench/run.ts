/** `npm run bench -- NAME` runs the race in `NAME.ts` and prints its answer as one line of JSON, the last one. */
import { readdirSync } from 'node:fs'
import type { Race } from './race.ts'

const races = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && file !== 'run.ts' && file !== 'race.ts')
  .map((file) => file.slice(0, -'.ts'.length))
const name = process.argv[2] ?? ''

if (races.includes(name)) {
  const { race }: { race: Race } = await import(`./${name}.ts`)
  const result = await race()
  console.log(JSON.stringify(result))
} else {
  console.error(`npm run bench -- NAME, where NAME is one of: ${races.join(', ')}`)
  process.exitCode = 1
}
