import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Concurrency } from '../../src/deliver/concurrency.ts'

/** Work that notes what becomes of it, and ends when the test says so. */
function noting(notes: string[]) {
  return (name: string) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    return {
      start() {
        notes.push(`${name} begins`)
        return promise
      },
      skip: () => notes.push(`${name} is left`),
      end: () => resolve(),
    }
  }
}

const later = () => performance.now() + 60_000
const unexpected = (error: unknown) => assert.fail(String(error))

test('so much work runs at a time, and what waits begins in its turn', async () => {
  const notes: string[] = []
  const [a, b, c] = ['a', 'b', 'c'].map(noting(notes)) as [Noted, Noted, Noted]
  const slots = new Concurrency(2, unexpected)
  for (const work of [a, b, c]) slots.run(work, later())
  assert.deepEqual(notes, ['a begins', 'b begins'])
  const someFree = slots.waitForSlot()
  b.end()
  await someFree
  assert.deepEqual(notes, ['a begins', 'b begins', 'c begins'])
  a.end()
  c.end()
  await slots.close()
})

test('what has found no slot in its time is left, while others still run and wait', async () => {
  const notes: string[] = []
  const [running, late, patient] = ['running', 'late', 'patient'].map(noting(notes)) as [Noted, Noted, Noted]
  const slots = new Concurrency(1, unexpected)
  slots.run(running, later())
  slots.run(patient, later())
  const isLeft = new Promise<void>((resolve) => {
    slots.run({ ...late, skip: () => resolve(void late.skip()) }, performance.now() + 20)
  })
  await isLeft
  assert.deepEqual(notes, ['running begins', 'late is left'])
  running.end()
  await slots.waitForSlot()
  assert.deepEqual(notes, ['running begins', 'late is left', 'patient begins'])
  patient.end()
  await slots.close()
})

test('work whose time is over already does not begin, though a slot is free', () => {
  const notes: string[] = []
  new Concurrency(1, unexpected).run(noting(notes)('late'), performance.now() - 1)
  assert.deepEqual(notes, ['late is left'])
})

test('closing leaves what waits and what is still given, and waits for what runs', async () => {
  const notes: string[] = []
  const [running, waiting, given] = ['running', 'waiting', 'given'].map(noting(notes)) as [Noted, Noted, Noted]
  const slots = new Concurrency(1, unexpected)
  slots.run(running, later())
  slots.run(waiting, later())
  const closed = slots.close().then(() => notes.push('closed'))
  slots.run(given, later())
  assert.deepEqual(notes, ['running begins', 'waiting is left', 'given is left'])
  running.end()
  await closed
  assert.equal(notes.at(-1), 'closed')
})

type Noted = ReturnType<ReturnType<typeof noting>>
