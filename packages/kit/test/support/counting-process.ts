import {
  createTally,
  openPostgres,
  Secret,
  silentLog,
  startStatRecorder,
  statTable,
  systemClock,
} from '../../src/index.ts'

/*
 * Counts what its parent says, writes when it is told to, and reports each step. Its argument is the address of the
 * database.
 */

/** What a parent sends. */
export type CountingOrder = { readonly count: number } | 'write'

const [, , url = ''] = process.argv
const tell = (what: string) => process.send?.(what)
const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
const table = statTable(database, { schema: 'counted', measures: ['a'] })
const tally = createTally(systemClock.now())
const store: typeof table = {
  ...table,
  async add(batch) {
    tell('writing')
    await table.add(batch)
    tell('written')
  },
}
const recorder = startStatRecorder({ name: 'counting', tally, store, clock: systemClock, log: silentLog })
process.on('message', (order: CountingOrder) => {
  if (order === 'write') recorder.resume()
  else {
    tally.add('a', { x: '1' }, order.count)
    tell('counted')
  }
})
tell('ready')
