import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, eventually, seedEventType, setup } from '../support/setup.ts'
import { createManualTopic } from '../support/topic/manual-topic.ts'

const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['sms'] }

async function withTopic(t: { after(work: () => Promise<void>): void }) {
  const { topic, deliver } = createManualTopic()
  const s = await setup({ topic, tables: { buckets: 4 } })
  t.after(s.close)
  await seedEventType(s)
  return { s, deliver }
}

const causes = ({ body }: Answer) => body.items.map((letter: { cause: string }) => letter.cause)

test('an invalid message of the topic becomes a readable dead letter', async (t) => {
  const { s, deliver } = await withTopic(t)
  const cases = [
    ['', /not JSON/, ''],
    ['{\u0000', /not JSON/, '{\ufffd'],
    [undefined, /not UTF-8/, ''],
    ['[]', /no notify request: \/ must be an object/, '[]'],
    [JSON.stringify({ ...shipped, data: { order_id: '\u0000' } }), /U\+0000/, /A-1|u0000/],
    [JSON.stringify({ ...shipped, user_id: '\ud800' }), /lone surrogates/, /ud800/],
    [JSON.stringify({ ...shipped, data: { note: 'x'.repeat(70_000) } }), /larger than the 65536 bytes/, /xxx/],
    [JSON.stringify({ ...shipped, channels: [] }), /at least one channel/, /sms|channels/],
  ] as const
  for (const [place, [text, reason, kept]] of cases.entries()) {
    assert.equal(await deliver(place + 1, text), 'terminate', String(reason))
    const { body: list } = await s.call('GET', '/v1/dead-letters?cause=invalid_message&limit=200')
    const newest = list.items.find(({ detail }: { detail: string }) => reason.test(detail))
    const { body: letter } = await s.call('GET', `/v1/dead-letters/${newest.id}`)
    if (typeof kept === 'string') assert.equal(letter.text, kept)
    else assert.match(letter.text, kept)
  }
})

test('an invalid message that is delivered again is one dead letter', async (t) => {
  const { s, deliver } = await withTopic(t)
  const invalid = ['{', { ...shipped, colour: 'red' }, { ...shipped, event: 'order.lost' }]
  for (const [place, message] of invalid.entries()) {
    const answers = await Promise.all([deliver(place + 1, message), deliver(place + 1, message)])
    assert.deepEqual([...answers, await deliver(place + 1, message)], ['terminate', 'terminate', 'terminate'])
  }
  assert.equal(causes(await s.call('GET', '/v1/dead-letters')).length, invalid.length)
  await deliver(invalid.length + 1, '{')
  assert.equal(causes(await s.call('GET', '/v1/dead-letters')).length, invalid.length + 1, 'the same text again')
})

test('an invalid message whose dead letter was discarded makes no other one', async (t) => {
  const { s, deliver } = await withTopic(t)
  await deliver(1, { ...shipped, colour: 'red' })
  assert.equal((await s.call('POST', '/v1/dead-letters/discard', { cause: 'invalid_message' })).body.discarded, 1)
  assert.equal(await deliver(1, { ...shipped, colour: 'red' }), 'terminate')
  assert.deepEqual(causes(await s.call('GET', '/v1/dead-letters')), [])
})

test('a message with an event type that is added later is accepted once when replayed', async (t) => {
  const { s, deliver } = await withTopic(t)
  assert.equal(await deliver(1, { ...shipped, event: 'order.lost' }), 'terminate')
  assert.equal(await deliver(2, '{'), 'terminate')
  const listed = await s.call('GET', '/v1/dead-letters?user_id=alice&event=order.lost')
  assert.deepEqual(causes(listed), ['invalid_message'])
  await seedEventType(s, 'order.lost')
  const replay = await s.call('POST', '/v1/dead-letters/replay', { cause: 'invalid_message' })
  assert.equal(replay.body.replayed, 1)
  const inbox = await eventually(
    () => s.call('GET', '/dev/mailbox'),
    ({ body }) => body.messages.length > 0,
  )
  assert.equal(inbox.body.messages[0].body, 'Order A-1 left.')
  assert.equal(await deliver(1, { ...shipped, event: 'order.lost' }), 'ack', 'the stream delivers it again')
  const { rows } = await s.database.query('SELECT 1 FROM notify.notification WHERE data IS NOT NULL')
  assert.equal(rows.length, 1)
  assert.deepEqual(causes(await s.call('GET', '/v1/dead-letters')), ['invalid_message'], 'what is no JSON stays')
})

test('user data in an invalid message is exported and erased with the user', async (t) => {
  const { s, deliver } = await withTopic(t)
  await deliver(1, { ...shipped, colour: 'red' })
  await deliver(2, { ...shipped, event: 'order.lost' })
  const { body } = await s.call('GET', '/v1/users/alice/data')
  assert.equal(body.data.dead_letter.length, 2)
  await s.call('DELETE', '/v1/users/alice/data')
  assert.deepEqual(causes(await s.call('GET', '/v1/dead-letters')), [])
})
