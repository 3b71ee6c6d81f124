import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Provider, SendResult } from '../../src/index.ts'
import { claimDue } from '../support/processes/claims.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const hour = 3_600_000

/** A service with a provider of email whose answer the test sets, and the bodies that it accepted. */
async function setupProvider(t: { after(work: () => Promise<void>): void }) {
  const answer: { now: SendResult } = { now: { kind: 'permanent', code: '550', reason: 'no such user' } }
  const acceptedBodies: string[] = []
  const provider: Provider = {
    name: 'post',
    channel: 'email',
    timeoutMs: 1_000,
    async send(messages) {
      if (answer.now.kind === 'accepted') acceptedBodies.push(...messages.map(({ content }) => content.body))
      return messages.map(() => answer.now)
    },
  }
  const caps = { total: 999, channels: {}, priorities: {} }
  const s = await setup({ providers: { email: [provider] }, options: { caps } })
  t.after(s.close)
  await seedEventType(s)
  return { s, answer, acceptedBodies }
}

async function createDeadLetters(s: Setup, users: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const user_id of users) {
    await s.call('PUT', `/v1/recipients/${user_id}`, { email: `${user_id}@example.com` })
    const data = { order_id: user_id }
    const { body } = await s.call('POST', '/v1/notify', { event: 'order.shipped', user_id, data, channels: ['email'] })
    ids.push(body.deliveries[0].id)
  }
  await eventually(
    () => s.call('GET', '/v1/dead-letters'),
    ({ body }) => body.items.filter(({ id }: { id: string }) => ids.includes(id)).length === ids.length,
  )
  return ids
}

test('dead letters that are replayed at a time are sent at that time, each once', async (t) => {
  const { s, answer, acceptedBodies } = await setupProvider(t)
  const [id] = await createDeadLetters(s, ['ann', 'bob'])
  answer.now = { kind: 'accepted' }
  const at = new Date(s.clock.now() + hour).toISOString()
  assert.equal((await s.call('POST', '/v1/dead-letters/replay', { cause: 'permanent', at })).body.replayed, 2)
  assert.deepEqual((await s.call('POST', '/v1/dead-letters/replay', { at })).body, { replayed: 0 })
  s.clock.advance(hour - 1)
  assert.deepEqual(await claimDue(s.store.deliveries, { channel: 'email', now: s.clock.now() }), [])
  assert.deepEqual(acceptedBodies, [])
  s.clock.advance(1)
  await eventually(
    async () => acceptedBodies,
    (bodies) => bodies.length === 2,
  )
  assert.deepEqual(acceptedBodies.toSorted(), ['Order ann left.', 'Order bob left.'])
  const { body } = await s.call('GET', `/v1/notifications/${`${id?.slice(0, 31)}0${id?.slice(32)}`}`)
  const replayed = body.timeline.find(({ what }: { what: string }) => what === 'replayed')
  assert.equal(replayed.detail.at, at)
})

test('dead letters are replayed or discarded by id, user and cause; the others stay', async (t) => {
  const { s, answer, acceptedBodies } = await setupProvider(t)
  const permanent = await createDeadLetters(s, ['ann', 'bob', 'cid'])
  await s.call('DELETE', '/v1/templates/order.shipped/email/en')
  const [template] = await createDeadLetters(s, ['dan'])
  answer.now = { kind: 'accepted' }
  const replay = async (selection: object) => (await s.call('POST', '/v1/dead-letters/replay', selection)).body
  assert.deepEqual(
    await replay({ ids: [permanent[0]], cause: 'template' }),
    { replayed: 0 },
    'all that is named must fit',
  )
  assert.equal((await replay({ ids: [permanent[0]] })).replayed, 1)
  assert.equal((await replay({ user_id: 'bob' })).replayed, 1)
  assert.deepEqual((await s.call('POST', '/v1/dead-letters/discard', { user_id: 'cid' })).body, { discarded: 1 })
  assert.equal((await s.call('GET', `/v1/dead-letters/${permanent[2]}`)).status, 404)
  await eventually(
    async () => acceptedBodies,
    (bodies) => bodies.length === 2,
  )
  assert.deepEqual(acceptedBodies.toSorted(), ['Order ann left.', 'Order bob left.'])
  await s.call('PUT', '/v1/templates/order.shipped/email/en', { subject: 'x', body: 'fixed {{ order_id }}' })
  assert.deepEqual((await s.call('POST', `/v1/dead-letters/${template}/replay`)).body, { replayed: 1 })
  await eventually(
    async () => acceptedBodies,
    (bodies) => bodies.includes('fixed dan'),
  )
  assert.deepEqual((await s.call('GET', '/v1/dead-letters')).body.items, [])
})
