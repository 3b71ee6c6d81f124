import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changedKeys, createNotifier, type Database, type Query } from '../../src/index.ts'

/** Keeps the payloads of each statement, and answers as it is told to. */
function recording(answer: () => Promise<void> = async () => {}) {
  const statements: string[][] = []
  const query = (async (sent: Query) => {
    statements.push((sent.values?.[1] ?? []) as string[])
    await answer()
    return { rows: [], rowCount: 0 }
  }) as Database['query']
  return { statements, database: { query } }
}

const turns = async (enough: () => boolean) => {
  while (!enough()) await new Promise((resolve) => setTimeout(resolve, 1))
}

test('keys that change while a notification is under way go together with the next', async () => {
  const released = Promise.withResolvers<void>()
  const { statements, database } = recording(() => released.promise)
  const notifier = createNotifier(database, 'news')
  notifier.publish(['first'])
  await turns(() => statements.length === 1)
  for (let n = 0; n < 500; n++) notifier.publish([`user-${n % 50}`])
  assert.equal(statements.length, 1)
  released.resolve()
  await turns(() => statements.length === 2)
  assert.deepEqual(statements[0]?.flatMap(changedKeys), ['first'])
  assert.equal(new Set(statements[1]?.flatMap(changedKeys)).size, 50)
})

test('no payload reaches the 8000 bytes of PostgreSQL, whatever the keys are', async () => {
  const { statements, database } = recording()
  const keys = Array.from({ length: 300 }, (_, n) => `${'"ü\n'.repeat(60)}${n}`)
  createNotifier(database, 'news').publish(keys)
  await turns(() => statements.length === 1)
  const payloads = statements[0] ?? []
  assert.ok(payloads.length > 1)
  assert.ok(payloads.every((payload) => Buffer.byteLength(payload) < 8_000))
  assert.deepEqual(payloads.flatMap(changedKeys), keys)
})

test('more keys than may wait count as everything', async () => {
  const { statements, database } = recording()
  createNotifier(database, 'news', { maxWaiting: 3 }).publish(['a', 'b', 'c', 'd', 'e'])
  await turns(() => statements.length === 1)
  assert.deepEqual(statements[0]?.map(changedKeys), [undefined])
})

test('a notification that fails holds up none of those after it', async () => {
  const { statements, database } = recording(() => Promise.reject(new Error('the connection is gone')))
  const notifier = createNotifier(database, 'news')
  notifier.publish(['a'])
  await turns(() => statements.length === 1)
  notifier.publish(['b'])
  await turns(() => statements.length === 2)
  assert.deepEqual(statements[1]?.flatMap(changedKeys), ['b'])
})
