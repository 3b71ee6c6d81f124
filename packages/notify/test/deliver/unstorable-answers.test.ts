import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callProvider } from '../../src/deliver/calls/call-provider.ts'
import type { OutgoingMessage, Provider, SendResult } from '../../src/index.ts'
import { type Answer, eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' } }
const stored = 'a\ufffdb \ufffd'
const unstorable = 'a\u0000b \ud800'

/** A provider that answers with texts which PostgreSQL can't store, and what it was sent. */
function answering(channel: 'email' | 'push', answer: (message: OutgoingMessage) => SendResult) {
  const seen: OutgoingMessage[] = []
  const provider: Provider = {
    name: 'scripted',
    channel,
    timeoutMs: 1_000,
    async send(messages) {
      seen.push(...messages)
      return messages.map(answer)
    },
  }
  return { provider, seen }
}

async function notify(s: Setup, channel: string, wanted: (answer: Answer) => boolean): Promise<Answer> {
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: [channel] })
  return eventually(() => s.call('GET', `/v1/notifications/${body.id}`), wanted)
}

test('a failure whose reason can not be stored becomes a dead letter after one call', async (t) => {
  const { provider, seen } = answering('email', () => ({ kind: 'permanent', code: '4\u000000', reason: unstorable }))
  const s = await setup({ providers: { email: [provider] } })
  t.after(s.close)
  await seedEventType(s)
  await notify(s, 'email', ({ body }) => body.deliveries[0].ended === 'dead_letter')
  const { rows } = await s.database.query('SELECT cause, detail FROM notify.dead_letter')
  assert.deepEqual(rows, [{ cause: 'permanent', detail: `scripted answered 4\ufffd00: ${stored}` }])
  assert.equal(seen.length, 1)
})

test('a dead device whose reason can not be stored is marked, and the other is sent one push', async (t) => {
  const { provider, seen } = answering('push', ({ target }) =>
    target.address === 'dead'
      ? { kind: 'dead_token', reason: unstorable }
      : { kind: 'accepted', providerMessageId: unstorable },
  )
  const s = await setup({ providers: { push: [provider] } })
  t.after(s.close)
  await seedEventType(s)
  await s.call('PUT', '/v1/users/alice/devices/phone', { token: 'living' })
  await s.call('PUT', '/v1/users/alice/devices/tablet', { token: 'dead' })
  await notify(s, 'push', ({ body }) => body.deliveries[0].state === 'sent')
  const { rows } = await s.database.query("SELECT dead_reason FROM notify.device WHERE token = 'dead'")
  assert.deepEqual(rows, [{ dead_reason: stored }])
  assert.equal(seen.filter(({ target }) => target.address === 'living').length, 1)
})

test('an answer that is not as its type says leaves the others as they are', async () => {
  const answers = [{ kind: 'accepted' }, { kind: 'permanent', code: 400 }] as unknown as SendResult[]
  const provider: Provider = { name: 'untyped', channel: 'email', timeoutMs: 1_000, send: async () => answers }
  assert.deepEqual(await callProvider(provider, [{}, {}] as OutgoingMessage[]), [
    { kind: 'accepted' },
    { kind: 'permanent', code: '400', reason: '' },
  ])
})

test('what a provider says is bounded, whether it answers or throws', async () => {
  const long = 'x'.repeat(499) + '\u{1f600}'.repeat(99)
  const bounded = `${'x'.repeat(499)}\ufffd`
  const { provider } = answering('email', () => ({ kind: 'transient', reason: long }))
  const message = { id: '1' } as OutgoingMessage
  assert.deepEqual(await callProvider(provider, [message]), [{ kind: 'transient', reason: bounded }])
  const failing: Provider = { ...provider, send: () => Promise.reject(new Error(`${unstorable}${long}`)) }
  const [failed] = await callProvider(failing, [message])
  assert.ok(failed?.kind === 'ambiguous' && failed.reason.startsWith(stored) && failed.reason.length === 500)
})
