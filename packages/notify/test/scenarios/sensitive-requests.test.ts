import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'
import { createManualTopic } from '../support/topic/manual-topic.ts'

const seesAll = 'read:delivery read:personal-data'
const manages = 'admin:notifications admin:privacy'
const own = 'user:alice write:notifications'

const requestOf = (event: string) => ({ event, user_id: 'alice', data: { order_id: 'hush' }, channels: ['email'] })

async function setupSensitive(options: Parameters<typeof setup>[0] = {}): Promise<Setup> {
  const s = await setup(options)
  await seedEventType(s, 'order.shipped')
  await seedEventType(s, 'password.reset', { sensitive: true, priority: 'critical' })
  return s
}

const schedule = (s: Setup, event: string, dedup_key: string) =>
  s.call('POST', '/v1/scheduled', { fire_at: '2090-01-01T00:00:00Z', payload: { ...requestOf(event), dedup_key } })

test('data of a sensitive event that is scheduled is shown to nobody and sent in full', async (t) => {
  const s = await setupSensitive()
  t.after(s.close)
  const created = await schedule(s, 'password.reset', 'once')
  const path = `/v1/scheduled/${created.body.id}`
  const answers = [created]
  for (const token of [seesAll, manages, own]) {
    answers.push(await s.call('GET', path, undefined, token))
    answers.push(await s.call('GET', '/v1/scheduled?user_id=alice', undefined, token))
  }
  const fireAt = new Date(s.clock.now() + 60_000).toISOString()
  answers.push(await s.call('PATCH', path, { fire_at: fireAt }, manages))
  for (const { status, body } of answers) {
    assert.ok(status < 300, JSON.stringify(body))
    const { payload } = body.items?.[0] ?? body
    assert.deepEqual(payload, { ...requestOf('password.reset'), data: { order_id: 'string' }, dedup_key: 'once' })
  }
  s.clock.advance(60_000)
  const { body } = await eventually(
    () => s.call('GET', '/dev/mailbox'),
    (answer) => answer.body.messages.length > 0,
  )
  assert.equal(body.messages[0].body, 'Order hush left.', 'a move stores no masked data')
})

test('data of a scheduled event counts as sensitive once its type is gone', async (t) => {
  const s = await setupSensitive({ work: false })
  t.after(s.close)
  const { body: created } = await schedule(s, 'order.shipped', 'once')
  const dataOf = async () => (await s.call('GET', `/v1/scheduled/${created.id}`, undefined, seesAll)).body.payload.data
  assert.deepEqual([created.payload.data, await dataOf()], [{ order_id: 'hush' }, { order_id: 'hush' }])
  assert.equal((await s.call('DELETE', '/v1/event-types/order.shipped')).status, 204)
  assert.deepEqual(await dataOf(), { order_id: 'string' })
  assert.equal((await s.call('DELETE', `/v1/scheduled/${created.id}`)).status, 204)
})

test('the dead letter of a message of a sensitive or unknown type has no text and is replayed', async (t) => {
  const { topic, deliver } = createManualTopic()
  const s = await setupSensitive({ topic })
  t.after(s.close)
  const cut = JSON.stringify(requestOf('password.reset')).slice(0, -1)
  const messages = [
    { ...requestOf('password.reset'), colour: 'red' },
    cut,
    requestOf('order.lost'),
    { ...requestOf('order.shipped'), colour: 'red' },
  ]
  for (const [place, message] of messages.entries()) assert.equal(await deliver(place + 1, message), 'terminate')
  const { items } = (await s.call('GET', '/v1/dead-letters')).body
  const letterOf = async (id: string) => (await s.call('GET', `/v1/dead-letters/${id}`, undefined, seesAll)).body
  const letters = await Promise.all(items.map(({ id }: { id: string }) => letterOf(id)))
  const texts = letters.toReversed().map(({ event, text }) => [event, text])
  assert.deepEqual(texts, [
    ['password.reset', undefined],
    [undefined, undefined],
    ['order.lost', undefined],
    ['order.shipped', JSON.stringify(messages[3])],
  ])
  await seedEventType(s, 'order.lost')
  assert.equal((await s.call('POST', '/v1/dead-letters/replay', { event: 'order.lost' })).body.replayed, 1)
  const { body } = await eventually(
    () => s.call('GET', '/dev/mailbox'),
    (answer) => answer.body.messages.length > 0,
  )
  assert.equal(body.messages[0].body, 'Order hush left.')
})

test('a message whose event type cannot be read is shown to nobody where one is sensitive', async (t) => {
  const { topic, deliver } = createManualTopic()
  const s = await setupSensitive({ topic })
  t.after(s.close)
  const sensitive = requestOf('password.reset')
  const unreadable = {
    'its fault is in the data': JSON.stringify(sensitive).replace('"hush"', 'hush'),
    'the name was cut off': JSON.stringify({
      data: { ...sensitive.data, note: 'x'.repeat(70_000) },
      event: 'password.reset',
    }),
    'the name is escaped': JSON.stringify(sensitive).replace('password', String.raw`\u0070assword`).slice(0, -1),
    'there is no name': JSON.stringify({ ...sensitive, event: undefined }),
  }
  for (const [place, text] of Object.values(unreadable).entries()) await deliver(place + 1, text)
  const list = await s.call('GET', '/v1/dead-letters', undefined, seesAll)
  const summary = await s.call('GET', '/v1/dead-letters/summary?group_by=fingerprint', undefined, seesAll)
  assert.equal(list.body.items.length, Object.keys(unreadable).length)
  const [letters, groups] = [JSON.stringify(list.body), JSON.stringify(summary.body)]
  assert.doesNotMatch(letters + groups, /hush/)
  assert.match(letters, /not JSON: Unexpected character in JSON at position 63 \(line 1 column 64\)/)
  for (const [index, what] of Object.keys(unreadable).toReversed().entries()) {
    const { body } = await s.call('GET', `/v1/dead-letters/${list.body.items[index].id}`, undefined, seesAll)
    assert.equal(body.event, undefined, what)
    assert.equal(body.text, undefined, what)
  }
})
