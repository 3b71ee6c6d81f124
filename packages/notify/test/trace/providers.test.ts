import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Provider } from '../../src/index.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'

test('a paused provider is not called, the next one takes over, and without one messages wait', async (t) => {
  const sent: string[] = []
  const provider = (name: string): Provider => ({
    name,
    channel: 'email',
    timeoutMs: 1_000,
    send: async (messages) =>
      messages.map(() => {
        sent.push(name)
        return { kind: 'accepted' }
      }),
  })
  const s = await setup({
    providers: { email: [provider('first'), provider('second')] },
    options: { caps: { total: 1_000_000, channels: {}, priorities: {} } },
  })
  t.after(s.close)
  await seedEventType(s)
  const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email'] }
  const send = async () => (await s.call('POST', '/v1/notify', event)).body.id as string
  const states = async () => {
    const { items } = (await s.call('GET', '/v1/providers', undefined, 'read:delivery')).body
    return items.map(({ name, place, state }: { name: string; place: number; state: string }) => [name, place, state])
  }
  assert.deepEqual(await states(), [
    ['first', 1, 'closed'],
    ['second', 2, 'closed'],
  ])
  const act = (name: string, what: string, body?: object, scopes?: string) =>
    s.call('POST', `/v1/providers/${name}/${what}`, body, scopes)
  const until = new Date(s.clock.now() + 2 * 86_400_000).toISOString()
  assert.equal((await act('first', 'pause', { until })).body.paused_until, until)
  /** Sends until the worker knows of the pause: it reads that once a second. */
  const sendUntil = async (name: string) => {
    await eventually(
      async () => {
        const before = sent.length
        await send()
        await eventually(
          async () => sent.length,
          (count) => count > before,
        )
        return sent.at(-1)
      },
      (last) => last === name,
    )
  }
  await sendUntil('second')
  assert.equal((await act('second', 'pause', {})).body.state, 'paused')
  assert.deepEqual(
    (await states()).map(([, , state]: [string, number, string]) => state),
    ['paused', 'paused'],
  )
  await eventually(
    async () => {
      const before = sent.length
      await send()
      const queued = await s.call('GET', '/v1/queue')
      return (
        sent.length === before &&
        queued.body.items.some(({ due, later }: { due: number; later: number }) => due + later > 0)
      )
    },
    (isWaiting) => isWaiting,
  )
  const waiting = await send()
  s.clock.advance(3_600_000)
  const { deliveries } = (await s.call('GET', `/v1/notifications/${waiting}`)).body
  assert.deepEqual(
    [deliveries[0].state, deliveries[0].ended],
    ['queued', undefined],
    'an endless pause ends no message',
  )
  assert.equal((await act('second', 'resume')).body.state, 'closed')
  await eventually(
    async () => {
      s.clock.advance(1_000)
      return (await s.call('GET', `/v1/notifications/${waiting}`)).body.deliveries[0].state
    },
    (state) => state === 'sent',
  )
  assert.equal(sent.at(-1), 'second', 'the first is still paused')
  s.clock.advance(2 * 86_400_000)
  assert.deepEqual(await states(), [
    ['first', 1, 'closed'],
    ['second', 2, 'closed'],
  ])
  assert.equal((await act('third', 'pause', {})).status, 404)
  assert.equal((await act('first', 'pause', { until: '2020-01-01T00:00:00Z' })).status, 400)
  assert.equal((await act('first', 'pause', {}, 'read:delivery')).status, 403)
})

test('a test call shows what the provider answers, masked, and needs an address of its channel', async (t) => {
  const seen: string[] = []
  const provider: Provider = {
    name: 'post',
    channel: 'email',
    timeoutMs: 1_000,
    send: async (messages) =>
      messages.map(({ target, content }) => {
        seen.push(`${target.address} ${content.subject}`)
        return { kind: 'permanent', code: '550', reason: `5.1.1 <${target.address}> unknown` }
      }),
  }
  const s = await setup({ work: false, providers: { email: [provider], 'in-app': [] } })
  t.after(s.close)
  const call = (to: string, scopes?: string) => s.call('POST', '/v1/providers/post/test', { to }, scopes)
  const { duration_ms: durationMs, ...rest } = (await call('ann@example.com')).body
  assert.deepEqual(rest, { result: 'permanent', code: '550', reason: '5.1.1 <ann@example.com> unknown' })
  assert.ok(Number.isInteger(durationMs))
  assert.equal((await call('ann@example.com', 'admin:notifications')).body.reason, '•••')
  assert.deepEqual(
    seen,
    Array.from({ length: 2 }, () => 'ann@example.com Test of post'),
  )
  assert.equal((await call('+14155550100')).status, 400)
  assert.equal((await call('ann@example.com', 'read:delivery')).status, 403)
  assert.equal((await s.call('POST', '/v1/providers/other/test', { to: 'ann@example.com' })).status, 404)
})
