import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createTally,
  manualClock,
  type StatBatch,
  silentLog,
  startStatRecorder,
  withUnwritten,
} from '../../src/index.ts'

/** A store that keeps what it is given, after what a test decides. */
function scripted(answer: () => Promise<void> = async () => {}) {
  const batches: StatBatch[] = []
  return {
    batches,
    store: {
      async add(batch: StatBatch) {
        batches.push(batch)
        await answer()
      },
      purge: async () => false,
    },
  }
}

const until = async (isSo: () => boolean) => {
  while (!isSo()) await new Promise(setImmediate)
}

function started(answer?: () => Promise<void>) {
  const clock = manualClock()
  const tally = createTally(clock.now())
  const { batches, store } = scripted(answer)
  const recorder = startStatRecorder({ name: 'test', tally, store, clock, log: silentLog })
  return { clock, tally, batches, recorder }
}

test('what was counted is written at the stop, so that nothing is lost', async () => {
  const { clock, tally, batches, recorder } = started()
  const at = clock.now()
  tally.add('a', { x: '1' }, 3)
  await recorder.stop()
  assert.deepEqual(
    batches.map(({ at: since, counts }) => ({ since, counts })),
    [{ since: at, counts: [{ measure: 'a', labels: { x: '1' }, value: 3 }] }],
  )
})

test('nothing is written when nothing was counted', async () => {
  const { batches, recorder } = started()
  await recorder.stop()
  assert.deepEqual(batches, [])
})

test('while the database hangs one batch waits and counting goes on in bounded memory', async () => {
  const hanging = Promise.withResolvers<void>()
  const { tally, batches, recorder } = started(() => hanging.promise)
  tally.add('a', { x: '1' })
  recorder.resume()
  await until(() => batches.length === 1)
  for (let n = 0; n < 10_000; n++) tally.add('a', { x: String(n) })
  recorder.resume()
  assert.equal(batches.length, 1)
  assert.ok(recorder.unwritten().length <= 4_002)
  hanging.resolve()
  await recorder.stop()
  const sum = batches.flatMap(({ counts }) => counts).reduce((all, { value }) => all + value, 0)
  assert.equal(sum, 10_001)
})

test('a batch that failed is sent again as it was, under the same id', async () => {
  let failures = 2
  const { tally, batches, recorder } = started(async () => {
    if (failures-- > 0) throw new Error('the connection was lost')
  })
  tally.add('a', { x: '1' })
  recorder.resume()
  await until(() => batches.length === 1)
  tally.add('a', { x: '1' }, 5)
  await recorder.stop()
  await recorder.stop()
  assert.equal(batches[0]?.id, batches[1]?.id)
  assert.deepEqual(batches[0]?.counts, batches[1]?.counts)
  const written = new Map(batches.map((batch) => [batch.id, batch.counts]))
  assert.deepEqual(
    [...written.values()].flat().map(({ value }) => value),
    [1, 5],
  )
})

test('what is not written yet is read as of now', async () => {
  const { clock, tally, recorder } = started()
  tally.add('a', { x: '1' }, 2)
  const from = clock.now() - 300_000
  const reader = withUnwritten({ read: async () => [{ at: from, labels: { x: '1' }, value: 7 }] }, recorder, clock)
  const query = { measure: 'a', from, to: from + 600_000, stepMs: 60_000 }
  const rows = await reader.read(query)
  assert.deepEqual(
    rows.map(({ at, value }) => [(at - from) / 60_000, value]),
    [
      [0, 7],
      [5, 2],
    ],
  )
  assert.equal((await reader.read({ ...query, to: from + 60_000 })).length, 1)
  await recorder.stop()
})
