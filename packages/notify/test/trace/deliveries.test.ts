import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Provider, SendResult } from '../../src/index.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'

/** A provider that fails once, and then knows each message by an id of its own. */
function provider(): Provider {
  let calls = 0
  return {
    name: 'post',
    channel: 'email',
    timeoutMs: 1_000,
    send: async (messages) =>
      messages.map((): SendResult => {
        calls += 1
        if (calls === 1) return { kind: 'transient', reason: '451 4.3.0 try alice@example.com later' }
        return { kind: 'accepted', providerMessageId: `message-${calls}` }
      }),
  }
}

for (const [buckets, distributed] of [
  [1, false],
  [4, true],
] as const)
  test(`a delivery has its attempts, and is found by its provider's id (${buckets} buckets)`, async (t) => {
    const backoff = { baseMs: 1, factor: 1, maxMs: 1 }
    const s = await setup({
      tables: { buckets, distributed },
      providers: { email: [provider()] },
      options: { backoff },
    })
    t.after(s.close)
    await seedEventType(s)
    const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email', 'sms'] }
    const { id: notificationId, deliveries } = (await s.call('POST', '/v1/notify', event)).body
    const [{ id }, sms] = deliveries
    const read = (path: string, scopes?: string) => s.call('GET', path, undefined, scopes)
    s.clock.advance(10)
    const sent = await eventually(
      async () => {
        s.clock.advance(1_000)
        return read(`/v1/deliveries/${id}`)
      },
      ({ body }) => body.state === 'sent',
    )
    const { attempts, ...own } = sent.body
    assert.deepEqual(own, {
      id,
      notification_id: notificationId,
      user_id: 'alice',
      event: 'order.shipped',
      channel: 'email',
      outcome: 'queued',
      state: 'sent',
      provider: 'post',
      provider_message_id: 'message-2',
    })
    assert.deepEqual(
      attempts.map(
        ({ attempt, what, results }: { attempt: number; what: string; results: Array<{ result: string }> }) => [
          attempt,
          what,
          results[0]?.result,
        ],
      ),
      [
        [1, 'attempt_failed', 'transient'],
        [2, 'sent', 'accepted'],
      ],
    )
    assert.match(attempts[0].results[0].reason, /alice@example\.com/)
    const masked = await read(`/v1/deliveries/${id}`, 'read:delivery')
    assert.equal(masked.body.attempts[0].results[0].reason, '451 4.3.0 •••')

    const found = await read('/v1/deliveries?provider_message_id=message-2')
    assert.deepEqual([found.body.items, found.body.complete], [[sent.body], true])
    for (const [query, count] of [
      ['provider_message_id=message-2&provider=post', 1],
      ['provider_message_id=message-2&provider=other', 0],
      ['provider_message_id=message-1', 0],
    ] as const)
      assert.equal((await read(`/v1/deliveries?${query}`)).body.items.length, count, query)
    assert.equal((await read(`/v1/deliveries/${sms.id}`)).status, 200, 'one that was never tried')
    assert.equal((await read(`/v1/deliveries/${id}`, 'user:alice read:notifications')).status, 200)
    assert.equal((await read(`/v1/deliveries/${id}`, 'user:bob read:notifications')).status, 404)
    assert.equal((await read(`/v1/deliveries/${notificationId}`)).status, 404, 'the id of a notification is none')
    assert.equal((await read('/v1/deliveries?provider_message_id=message-2', 'write:notifications')).status, 403)
    assert.equal((await read('/v1/deliveries')).status, 400, 'all of them are listed nowhere')
  })
