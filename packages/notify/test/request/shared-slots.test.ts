import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedEventType, setup } from '../support/setup.ts'

const nothing = '019a205c-cc20-7a27-aaca-4b0e3f272052'

/** Reads whose cost grows with what is stored. */
const searches = [
  ['GET', '/v1/notifications'],
  ['GET', '/v1/deliveries?provider_message_id=m-1'],
  ['GET', '/v1/dead-letters'],
  ['GET', '/v1/dead-letters/summary?group_by=cause'],
  ['POST', '/v1/dead-letters/replay', { dry_run: true }],
  ['POST', '/v1/dead-letters/discard', { dry_run: true }],
  ['GET', `/v1/replays/${nothing}`],
  ['GET', '/v1/scheduled'],
  ['GET', '/v1/pending?kind=deferred'],
  ['GET', '/v1/pending?kind=parked'],
  ['GET', '/v1/queue'],
  ['GET', '/v1/suppressions'],
  ['DELETE', '/v1/suppressions?user_id=alice&dry_run=true'],
] as const

test('all searches share one bound: past it they are refused for a while, and the rest goes on', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  await seedEventType(s)
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const summarize = s.store.deadLetters.summarize
  Object.assign(s.store.deadLetters, {
    summarize: async (...input: Parameters<typeof summarize>) => {
      await released
      return summarize(...input)
    },
  })
  const waiting = Array.from({ length: 44 }, () => s.call('GET', '/v1/dead-letters/summary?group_by=cause'))
  for (const [method, path, body] of searches) {
    const { status, headers } = await s.call(method, path, body)
    assert.deepEqual([status, Number(headers['retry-after']) > 0], [503, true], path)
  }
  assert.equal((await s.call('POST', '/v1/notify', { event: 'order.shipped', user_id: 'alice', data: {} })).status, 202)
  release()
  for (const answer of waiting) assert.equal((await answer).status, 200)
  for (const [method, path, body] of searches) {
    const { status } = await s.call(method, path, body)
    assert.ok(status === 200 || status === 404, `${path} ${status}`)
  }
})
