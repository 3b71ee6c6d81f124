import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migrateNotify } from '../../../src/postgres/index.ts'
import { runAtOnce } from '../../../src/postgres/sql/at-once.ts'
import { embeddedDatabase } from '../../support/engine/embedded.ts'

/** Stores its first value in a row named by its last. */
function putting(name: string, values: readonly string[]) {
  const last = values.length + 1
  const text = `INSERT INTO notify.property (name, value) SELECT $${last}::text, $1::bigint`
  return { text, values: [...values, name] }
}

test('each statement that runs at once has its own values, up to 16', async (t) => {
  const database = await embeddedDatabase()
  t.after(() => database.close())
  await migrateNotify(database)
  const others = (count: number) => Array.from({ length: count }, () => 'x')
  const check = { precondition: true as const, text: 'SELECT $1::integer = $2::integer', values: ['7', '7'] }
  await runAtOnce(database, [putting('short', ['1']), check, putting('long', ['2', ...others(14)])])
  const { rows } = await database.query("SELECT name, value FROM notify.property WHERE name IN ('short', 'long')")
  assert.deepEqual(
    new Map(rows.map(Object.values) as Array<[string, number]>),
    new Map([
      ['short', 1],
      ['long', 2],
    ]),
  )
  await assert.rejects(
    runAtOnce(database, [putting('never', ['1']), putting('longer', ['2', ...others(15)])]),
    /a statement has 17 values, and may have 16: INSERT INTO notify.property/,
  )
  const { rows: left } = await database.query("SELECT FROM notify.property WHERE name = 'never'")
  assert.equal(left.length, 0)
})
