import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Provider, SendResult } from '../../src/index.ts'
import { eventually, furnish, type Setup, setup } from '../support/setup.ts'

const hour = 3_600_000

/** A service whose provider of email answers as it is told, and the bodies that it took. */
async function answering(t: { after(work: () => Promise<void>): void }) {
  const answer: { now: SendResult } = { now: { kind: 'permanent', code: '550', reason: 'no such user' } }
  const taken: string[] = []
  const provider: Provider = {
    name: 'post',
    channel: 'email',
    timeoutMs: 1_000,
    async send(messages) {
      if (answer.now.kind === 'accepted') taken.push(...messages.map(({ content }) => content.body))
      return messages.map(() => answer.now)
    },
  }
  const caps = { total: 999, channels: {}, priorities: {} }
  const s = await setup({ providers: { email: [provider] }, options: { caps } })
  t.after(s.close)
  await furnish(s)
  return { s, answer, taken }
}

async function die(s: Setup, users: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const user_id of users) {
    await s.call('PUT', `/v1/recipients/${user_id}`, { email: `${user_id}@example.com` })
    const data = { order_id: user_id }
    const { body } = await s.call('POST', '/v1/notify', { event: 'order.shipped', user_id, data, channels: ['email'] })
    ids.push(body.deliveries[0].id)
  }
  await eventually(
    () => s.call('GET', '/v1/dead-letters'),
    ({ body }) => body.dead_letters.filter(({ id }: { id: string }) => ids.includes(id)).length === ids.length,
  )
  return ids
}

test('dead letters that are replayed at a time are sent at that time, each once', async (t) => {
  const { s, answer, taken } = await answering(t)
  const [id] = await die(s, ['ann', 'bob'])
  answer.now = { kind: 'accepted' }
  const at = new Date(s.clock.now() + hour).toISOString()
  assert.deepEqual((await s.call('POST', '/v1/dead-letters/replay', { cause: 'permanent', at })).body, { replayed: 2 })
  assert.deepEqual((await s.call('POST', '/v1/dead-letters/replay', { at })).body, { replayed: 0 })
  s.clock.advance(hour - 1)
  assert.deepEqual(await s.store.deliveries.claim(0, 'email', 10, 60_000, s.clock.now()), [])
  assert.deepEqual(taken, [])
  s.clock.advance(1)
  await eventually(
    async () => taken,
    (bodies) => bodies.length === 2,
  )
  assert.deepEqual(taken.toSorted(), ['Order ann left.', 'Order bob left.'])
  const { body } = await s.call('GET', `/v1/notifications/${`${id?.slice(0, 31)}0${id?.slice(32)}`}`)
  const replayed = body.timeline.find(({ what }: { what: string }) => what === 'replayed')
  assert.equal(replayed.detail.at, at)
})

test('dead letters are replayed or discarded by id, user and cause; the others stay', async (t) => {
  const { s, answer, taken } = await answering(t)
  const permanent = await die(s, ['ann', 'bob', 'cid'])
  await s.call('DELETE', '/v1/templates/order.shipped/email/en')
  const [template] = await die(s, ['dan'])
  answer.now = { kind: 'accepted' }
  const replay = async (selection: object) => (await s.call('POST', '/v1/dead-letters/replay', selection)).body
  assert.deepEqual(
    await replay({ ids: [permanent[0]], cause: 'template' }),
    { replayed: 0 },
    'all that is named must fit',
  )
  assert.deepEqual(await replay({ ids: [permanent[0]] }), { replayed: 1 })
  assert.deepEqual(await replay({ user_id: 'bob' }), { replayed: 1 })
  assert.deepEqual((await s.call('POST', '/v1/dead-letters/discard', { user_id: 'cid' })).body, { discarded: 1 })
  assert.equal((await s.call('GET', `/v1/dead-letters/${permanent[2]}`)).status, 404)
  await eventually(
    async () => taken,
    (bodies) => bodies.length === 2,
  )
  assert.deepEqual(taken.toSorted(), ['Order ann left.', 'Order bob left.'])
  await s.call('PUT', '/v1/templates/order.shipped/email/en', { subject: 'x', body: 'mended {{ order_id }}' })
  assert.deepEqual((await s.call('POST', `/v1/dead-letters/${template}/replay`)).body, { replayed: 1 })
  await eventually(
    async () => taken,
    (bodies) => bodies.includes('mended dan'),
  )
  assert.deepEqual((await s.call('GET', '/v1/dead-letters')).body.dead_letters, [])
})
