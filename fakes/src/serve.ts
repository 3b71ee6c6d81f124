/**
 * `npm run fakes`: every provider as a strict local fake, and a control to make them misbehave (docs/fakes.md).
 * --port first of nine ports (0: free ones), --gatehouse where Gatehouse is, --write FILE a copy of --base FILE with the providers.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { startRehearsal } from './rehearsal.ts'
import { startControl } from './server/control.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '4400' },
    gatehouse: { type: 'string', default: 'http://localhost:8080' },
    base: { type: 'string', default: 'gatehouse.yaml' },
    write: { type: 'string' },
  },
})
const port = Number(values.port)
if (!/^\d{1,5}$/.test(values.port) || port > 65_000) throw new RangeError('--port must be a number from 0 to 65000')

const rehearsal = await startRehearsal(port)
const control = await startControl(rehearsal, { port, gatehouseUrl: values.gatehouse.replace(/\/+$/, '') })
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void Promise.all([control.stop(), rehearsal.stop()]))

if (values.write === undefined)
  console.log(`# Put this into gatehouse.yaml; its credentials are good until the fakes stop.\n${rehearsal.providers}`)
else {
  write(values.write, values.base)
  console.log(`Start Gatehouse so:  GATEHOUSE_CONFIG=${values.write} npm start\n`)
}
for (const { kind, url } of rehearsal.fakes.values()) console.log(`${kind.padEnd(10)} ${url}`)
console.log(`${'control'.padEnd(10)} ${control.url}`)

/** A copy of a configuration without providers of its own, with those of the fakes. */
function write(path: string, base: string): void {
  const text = readFileSync(base, 'utf8')
  if (/^providers:/m.test(text)) throw new RangeError(`${base} has providers of its own; name another with --base`)
  writeFileSync(path, `${text.trimEnd()}\n\n${rehearsal.providers}`, { mode: 0o600 })
}
