import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { memoryDatabase, postgresDatabase, startPostgres, testWith } from '@gatehouse/testing'
import fc from 'fast-check'
import { type Database, type StatCount, statTable } from '../../src/index.ts'

const tables = `CREATE SCHEMA counted;
  CREATE TABLE counted.stat (step integer, measure text, at timestamptz, labels jsonb, value bigint NOT NULL,
    PRIMARY KEY (step, measure, at, labels));
  CREATE TABLE counted.stat_batch (id uuid PRIMARY KEY, at timestamptz NOT NULL);`
const minuteMs = 60_000
const hourMs = 3_600_000
const start = Date.UTC(2026, 5, 1, 12)
const options = { schema: 'counted', measures: ['a', 'wide'], hourly: new Set(['wide']) }
const count = (value: number, labels = { x: '1', y: '2' }): StatCount => ({ measure: 'a', labels, value })

async function onPostgres(t: { after(work: () => Promise<void>): void }, connections?: number): Promise<Database> {
  const server = await startPostgres()
  const database = await postgresDatabase(server, connections)
  t.after(async () => {
    await database.close()
    await server.stop()
  })
  for (const statement of tables.split(';\n')) await database.query(statement)
  return database
}

async function embedded(t: { after(work: () => Promise<void>): void }): Promise<Database> {
  const database = await memoryDatabase()
  t.after(() => database.close())
  for (const statement of tables.split(';\n')) await database.query(statement)
  return database
}

const sum = (rows: ReadonlyArray<{ readonly value: number }>) => rows.reduce((all, { value }) => all + value, 0)

for (const [engine, open, testOn] of [
  ['PostgreSQL', onPostgres, testWith.bind(undefined, 'postgresql')],
  ['the embedded engine', embedded, test],
] as const) {
  testOn(`minutes and hours agree with what was added, on ${engine}`, async (t) => {
    const table = statTable(await open(t), options)
    const increments = fc.sample(
      fc.record({
        minute: fc.integer({ min: 0, max: 179 }),
        x: fc.constantFrom('1', '2', '3'),
        value: fc.integer({ min: 1, max: 99 }),
      }),
      60,
    )
    for (const { minute, x, value } of increments)
      await table.add({ id: randomUUID(), at: start + minute * minuteMs + 31, counts: [count(value, { x, y: 'é"' })] })
    const range = { measure: 'a', from: start, to: start + 3 * hourMs }
    for (const stepMs of [minuteMs, 5 * minuteMs, hourMs, 3 * hourMs]) {
      const rows = await table.read({ ...range, stepMs })
      for (const { at, labels, value } of rows)
        assert.equal(
          value,
          sum(
            increments.filter(
              ({ minute, x }) => x === labels.x && Math.floor((minute * minuteMs) / stepMs) === (at - start) / stepMs,
            ),
          ),
        )
      assert.equal(sum(rows), sum(increments))
    }
  })

  testOn(`a batch that is sent several times is added once, on ${engine}`, async (t) => {
    const table = statTable(await open(t), options)
    const batch = { id: randomUUID(), at: start, counts: [count(5), count(2, { x: '2', y: '2' })] }
    await Promise.all([table.add(batch), table.add(batch), table.add(batch)])
    await table.add(batch)
    assert.equal(sum(await table.read({ measure: 'a', from: start, to: start + hourMs, stepMs: minuteMs })), 7)
  })

  testOn(`what is too old is deleted in bounded steps, and nothing else, on ${engine}`, async (t) => {
    const database = await open(t)
    const table = statTable(database, options)
    const now = start + 401 * 24 * hourMs
    const rows = Array.from({ length: 2_500 }, (_, n) => count(1, { x: String(n), y: '' }))
    await table.add({ id: randomUUID(), at: start, counts: rows })
    await table.add({ id: randomUUID(), at: now - hourMs, counts: [count(3)] })
    let passes = 0
    while (await table.purge(now)) assert.ok(++passes < 10)
    assert.ok(passes >= 1, 'one pass is bounded')
    const { rows: left } = await database.query<{ value: number }>('SELECT value FROM counted.stat')
    assert.deepEqual(left, [{ value: 3 }, { value: 3 }])
  })
}

testWith('postgresql', 'processes that write the same counts at once add up, in any order of labels', async (t) => {
  const database = await onPostgres(t, 8)
  const [one, another] = [statTable(database, options), statTable(database, options)]
  const counts = Array.from({ length: 300 }, (_, n) => count(1, { x: String(n), y: '2' }))
  const batches = Array.from({ length: 20 }, (_, n) => ({
    id: randomUUID(),
    at: start + n,
    counts: n % 2 === 0 ? counts : counts.toReversed(),
  }))
  await Promise.all(batches.map((batch, n) => (n % 2 === 0 ? one : another).add(batch)))
  const rows = await one.read({ measure: 'a', from: start, to: start + hourMs, stepMs: hourMs })
  assert.equal(rows.length, 300)
  assert.ok(rows.every(({ value }) => value === 20))
})

test('a measure of many labels is kept by the hour alone', async (t) => {
  const database = await embedded(t)
  const table = statTable(database, options)
  await table.add({ id: randomUUID(), at: start + 90_000, counts: [{ measure: 'wide', labels: { e: '1' }, value: 4 }] })
  const { rows } = await database.query<{ step: number }>('SELECT step FROM counted.stat')
  assert.deepEqual(rows, [{ step: 3_600 }])
  assert.equal(sum(await table.read({ measure: 'wide', from: start, to: start + hourMs, stepMs: hourMs })), 4)
  assert.deepEqual(await table.seen('wide'), { first: start, last: start })
  assert.equal(await table.seen('a'), undefined)
  assert.equal(await table.seen('wide', { label: 'e', values: ['1'] }), undefined)
  assert.deepEqual(await table.seen('wide', { label: 'e', values: ['2'] }), { first: start, last: start })
})
