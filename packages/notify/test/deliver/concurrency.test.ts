import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Concurrency } from '../../src/deliver/concurrency.ts'

/** Work that notes what becomes of it, and ends when the test says so. */
function noting(notes: string[]) {
  return (name: string) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    return {
      start() {
        notes.push(`${name} starts`)
        return promise
      },
      skip: () => notes.push(`${name} is skipped`),
      end: () => resolve(),
    }
  }
}

const later = () => performance.now() + 60_000
const unexpected = (error: unknown) => assert.fail(String(error))

test('work runs up to the maximum at a time, and what waits starts in order', async () => {
  const notes: string[] = []
  const [a, b, c] = ['a', 'b', 'c'].map(noting(notes)) as [Noted, Noted, Noted]
  const concurrency = new Concurrency(2, unexpected)
  for (const work of [a, b, c]) concurrency.run(work, later())
  assert.deepEqual(notes, ['a starts', 'b starts'])
  const hasSlot = concurrency.waitForSlot()
  b.end()
  await hasSlot
  assert.deepEqual(notes, ['a starts', 'b starts', 'c starts'])
  a.end()
  c.end()
  await concurrency.close()
})

test('work that finds no slot in time is skipped, while other work runs and waits', async () => {
  const notes: string[] = []
  const [running, late, patient] = ['running', 'late', 'patient'].map(noting(notes)) as [Noted, Noted, Noted]
  const concurrency = new Concurrency(1, unexpected)
  concurrency.run(running, later())
  concurrency.run(patient, later())
  const isSkipped = new Promise<void>((resolve) => {
    concurrency.run({ ...late, skip: () => resolve(void late.skip()) }, performance.now() + 20)
  })
  await isSkipped
  assert.deepEqual(notes, ['running starts', 'late is skipped'])
  running.end()
  await concurrency.waitForSlot()
  assert.deepEqual(notes, ['running starts', 'late is skipped', 'patient starts'])
  patient.end()
  await concurrency.close()
})

test('work whose time has passed is skipped, though a slot is free', () => {
  const notes: string[] = []
  new Concurrency(1, unexpected).run(noting(notes)('late'), performance.now() - 1)
  assert.deepEqual(notes, ['late is skipped'])
})

test('closing skips what waits and what still comes, and waits for what runs', async () => {
  const notes: string[] = []
  const [running, waiting, added] = ['running', 'waiting', 'added'].map(noting(notes)) as [Noted, Noted, Noted]
  const concurrency = new Concurrency(1, unexpected)
  concurrency.run(running, later())
  concurrency.run(waiting, later())
  const closed = concurrency.close().then(() => notes.push('closed'))
  concurrency.run(added, later())
  assert.deepEqual(notes, ['running starts', 'waiting is skipped', 'added is skipped'])
  running.end()
  await closed
  assert.equal(notes.at(-1), 'closed')
})

type Noted = ReturnType<ReturnType<typeof noting>>

test('work that may wait for months sets no timer that fires at once', async () => {
  const notes: string[] = []
  const warnings: string[] = []
  const note = ({ name }: Error) => warnings.push(name)
  process.on('warning', note)
  const [running, patient] = ['running', 'patient'].map(noting(notes)) as [Noted, Noted]
  const concurrency = new Concurrency(1, unexpected)
  concurrency.run(running, later())
  concurrency.run(patient, performance.now() + 2 ** 32)
  await setImmediate()
  process.off('warning', note)
  running.end()
  await concurrency.waitForSlot()
  patient.end()
  await concurrency.close()
  assert.deepEqual(notes, ['running starts', 'patient starts'])
  assert.deepEqual(warnings, [])
})
