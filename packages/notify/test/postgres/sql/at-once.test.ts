import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migrateNotify } from '../../../src/postgres/index.ts'
import { readAtOnce, runAtOnce } from '../../../src/postgres/sql/at-once.ts'
import { embeddedDatabase } from '../../support/engine/embedded.ts'

/** Stores the sum of its values in a row named by its last. */
function putting(name: string, values: readonly string[]) {
  const sum = values.map((_, index) => `$${index + 1}::bigint`).join(' + ')
  return {
    text: `INSERT INTO notify.property (name, value) SELECT $${values.length + 1}::text, ${sum}`,
    values: [...values, name],
  }
}

const valueCalled = (name: string) => ({
  text: 'SELECT p.value FROM notify.property p WHERE p.name = $1::text',
  values: [name],
})

async function preparedHere() {
  const database = await embeddedDatabase()
  await migrateNotify(database)
  return database
}

test('each statement that runs at once has its own values, however many', async (t) => {
  const database = await preparedHere()
  t.after(() => database.close())
  const ones = Array.from({ length: 20 }, () => '1')
  const check = { precondition: true as const, text: 'SELECT $1::integer = $2::integer', values: ['7', '7'] }
  await runAtOnce(database, [putting('short', ['1']), check, putting('long', ones)])
  const [short, long] = await readAtOnce(database, {}, [valueCalled('short'), valueCalled('long')])
  assert.deepEqual([short?.rows, long?.rows], [[{ value: 1 }], [{ value: 20 }]])
})

test('texts of values arrive as they are', async (t) => {
  const database = await preparedHere()
  t.after(() => database.close())
  const odd = `it's \\ "quoted", {1,2}; -- $1\n%s`
  const same = { precondition: true as const, text: 'SELECT $1::text = $2::text', values: [odd, odd] }
  const nothing = { precondition: true as const, text: 'SELECT $1::text IS NULL', values: [null] }
  const list = { precondition: true as const, text: 'SELECT ($1::text[])[2] = $2::text', values: [['a', odd], odd] }
  assert.equal(await runAtOnce(database, [same, nothing, list]), undefined)
})

test('a statement is kept whose transaction failed, and where the note of it is gone', async (t) => {
  const database = await preparedHere()
  t.after(() => database.close())
  const fails = { precondition: true as const, text: 'SELECT $1::boolean', values: [false] }
  assert.equal(await runAtOnce(database, [putting('kept', ['1']), fails]), fails)
  assert.equal(await runAtOnce(database, [putting('kept', ['2'])]), undefined)
  const { rows } = await database.query<{ count: number }>(
    "SELECT count(*) AS count FROM pg_prepared_statements WHERE statement LIKE 'PREPARE notify_%'",
  )
  assert.equal(rows[0]?.count, 2)
  await database.query('RESET ALL')
  assert.equal(await runAtOnce(database, [putting('again', ['3'])]), undefined)
})
