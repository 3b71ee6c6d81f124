import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Channel, Provider } from '../../src/index.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' } }

/** A provider of a channel that accepts everything, and what it was sent. */
function createPost(channel: Channel) {
  const sent: string[] = []
  const provider: Provider = {
    name: `post-${channel}`,
    channel,
    timeoutMs: 1_000,
    async send(messages) {
      sent.push(...messages.map(({ notificationId }) => notificationId))
      return messages.map(() => ({ kind: 'accepted' }))
    },
  }
  return { provider, sent }
}

/** A notification on one channel, accepted while nobody works, and processes that go on from there. */
async function accepted(t: TestContext, channel: Channel, settings: object = {}) {
  const before = await setup({ work: false })
  await seedEventType(before, 'order.shipped', settings)
  const { body } = await before.call('POST', '/v1/notify', { ...shipped, channels: [channel] })
  const { database, clock } = before
  const started: Setup[] = []
  t.after(async () => {
    for (const { notify } of started) await notify.stop()
    await before.close()
  })
  const start = async (...providers: Provider[]) => {
    const byChannel = Object.groupBy(providers, (provider) => provider.channel)
    const s = await setup({ database, clock, providers: byChannel as Record<Channel, Provider[]> })
    started.push(s)
    return s
  }
  return { before, clock, start, id: body.id as string, acceptedAt: clock.now() }
}

const deliveriesOf = async (s: Setup, id: string) => (await s.call('GET', `/v1/notifications/${id}`)).body.deliveries

const untilEnded = async (s: Setup, id: string): Promise<string> => {
  const [first] = await eventually(
    () => deliveriesOf(s, id),
    ([delivery]) => delivery.ended !== undefined,
  )
  return first.ended
}

/** Lets the worker meet what waits, and leave it waiting; answers until when. */
async function untilPutOff({ database, clock }: Setup): Promise<number> {
  const { rows } = await eventually(
    () =>
      database.query<{ due_at: number }>(
        "SELECT due_at FROM notify.delivery_queue WHERE lease_until IS NULL AND message->>'waitsSince' IS NOT NULL",
      ),
    ({ rows: [row] }) => row !== undefined && row.due_at > clock.now(),
  )
  return rows[0]?.due_at ?? assert.fail('nothing waits')
}

/** Lets time pass until shortly before a mail has waited as long as it may, and then that moment too. */
async function waitOut(s: Setup, id: string, { from, forMs }: { readonly from: number; readonly forMs: number }) {
  s.clock.set(from + forMs - minute)
  assert.ok((await untilPutOff(s)) <= from + forMs, 'it is met again in time')
  s.clock.set(from + forMs)
  return untilEnded(s, id)
}

test('a mail whose channel has no provider any more is a dead letter after its patience', async (t) => {
  const { start, clock, id, acceptedAt } = await accepted(t, 'email')
  const s = await start()
  assert.ok((await untilPutOff(s)) <= acceptedAt + minute, 'a slip of the configuration is soon over')
  assert.equal(await waitOut(s, id, { from: acceptedAt, forMs: day }), 'dead_letter')
  const { body } = await s.call('GET', '/v1/dead-letters?cause=waited_too_long')
  assert.equal(body.items[0].detail, 'no provider carries its channel')
  assert.equal((await s.call('POST', `/v1/dead-letters/${body.items[0].id}/replay`)).body.replayed, 1)
  await untilPutOff(s)
  const again = { from: clock.now(), forMs: day }
  assert.equal(await waitOut(s, id, again), 'dead_letter', 'a replay does not wait for ever either')
})

test('a mail waits no longer for a provider though processes are restarted', async (t) => {
  const { start, id, acceptedAt } = await accepted(t, 'email')
  const first = await start()
  await untilPutOff(first)
  await first.notify.stop()
  assert.equal(await waitOut(await start(), id, { from: acceptedAt, forMs: day }), 'dead_letter')
})

test('a mail whose channel has a provider again before its patience ends is sent', async (t) => {
  const { start, clock, id, acceptedAt } = await accepted(t, 'email')
  const without = await start()
  await untilPutOff(without)
  clock.set(acceptedAt + 12 * hour)
  const dueAt = await untilPutOff(without)
  assert.ok(dueAt <= clock.now() + 5 * minute)
  await without.notify.stop()
  const { provider, sent } = createPost('email')
  await start(provider)
  clock.set(dueAt)
  await eventually(
    async () => sent,
    ({ length }) => length === 1,
  )
  assert.deepEqual(sent, [id])
})

test('a mail whose channel has no provider any more expires, and its data is erased', async (t) => {
  const { before, start, id, acceptedAt } = await accepted(t, 'email', { ttl_seconds: 3_600, sensitive: true })
  const s = await start()
  await untilPutOff(s)
  assert.equal(await waitOut(s, id, { from: acceptedAt, forMs: hour }), 'expired')
  const { rows } = await before.database.query('SELECT data FROM notify.notification')
  assert.deepEqual(rows, [{ data: null }])
})

test('a push whose channel has no provider any more falls back to email', async (t) => {
  const { start, id, acceptedAt } = await accepted(t, 'push')
  const { provider, sent } = createPost('email')
  const s = await start(provider)
  await untilPutOff(s)
  assert.equal(await waitOut(s, id, { from: acceptedAt, forMs: 10 * minute }), 'dead_letter')
  await eventually(
    async () => sent,
    ({ length }) => length === 1,
  )
  assert.deepEqual(sent, [id])
})
