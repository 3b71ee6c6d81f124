import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type Setup, type SetupOptions, seedEventType, setup } from '../support/setup.ts'
import { type Reader, readStream, type StreamEvent } from '../support/stream-reader.ts'

const rules = { max: 4, maxPerReader: 2, heartbeatMs: 15_000, maxLifeMs: 900_000, pollMs: 5 }
const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email', 'in-app'] }

interface Followed extends Setup {
  readonly id: string
  follow(token?: string, after?: string): Promise<Reader>
}

async function followed(options: SetupOptions = {}): Promise<Followed> {
  const s = await setup({ ...options, options: { notificationStreams: { ...rules }, ...options.options } })
  await seedEventType(s)
  const { id } = (await s.call('POST', '/v1/notify', event)).body
  await s.http.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(s.http.server.address() as AddressInfo).port}/v1/notifications/${id}/stream`
  return { ...s, id, follow: (token = 'read:delivery', after) => readStream(url, token, after) }
}

const stateOf = (events: readonly StreamEvent[], channel: string) =>
  events.findLast(({ event: name, data }) => name === 'delivery' && data.channel === channel)?.data.state
const entries = (events: readonly StreamEvent[]) => events.filter(({ event: name }) => name === 'timeline')

test('a stream shows the timeline and the deliveries as they change, and goes on where it ended', async (t) => {
  const s = await followed()
  t.after(s.close)
  const reader = await s.follow()
  assert.equal(reader.status, 200)
  await reader.until((events) => stateOf(events, 'email') === 'sent' && stateOf(events, 'in-app') === 'sent')
  const mails = (await s.call('GET', '/dev/mailbox')).body.messages
  const mail = mails.find(({ channel }: { channel: string }) => channel === 'email')
  await s.call('POST', `/dev/mailbox/${mail.id}/delivered`)
  await reader.until((events) => stateOf(events, 'email') === 'delivered')
  const shown = (await s.call('GET', `/v1/notifications/${s.id}`, undefined, 'read:delivery')).body
  const sent = entries(reader.events)
  assert.equal(new Set(sent.map(({ data }) => data.id)).size, sent.length, 'each entry once')
  const whats = (list: ReadonlyArray<{ what: string }>) => list.map(({ what }) => what).sort()
  assert.deepEqual(whats(sent.map(({ data }) => data)), whats(shown.timeline))
  const last = sent
    .map(({ data }) => data.id)
    .sort()
    .at(-1)
  reader.cut()
  const again = await s.follow('read:delivery', last)
  await again.until((events) => stateOf(events, 'email') === 'delivered')
  const resumed = entries(again.events).map(({ data }) => data.id)
  assert.ok(
    resumed.includes(last) && !resumed.some((id: string) => id.includes('/')),
    'what was decided at first is known',
  )
  again.cut()
  for (const wrong of ['1', 'abc', `${s.id}/x`]) assert.equal((await s.follow('read:delivery', wrong)).status, 400)
})

test('a stream that was cut amid what was decided at first goes on with the rest of it', async (t) => {
  const s = await followed({ work: false })
  t.after(s.close)
  const decided = async (after?: string) => {
    const reader = await s.follow('read:delivery', after)
    await reader.until((events) => stateOf(events, 'email') !== undefined)
    reader.cut()
    return entries(reader.events).map(({ data }) => data.id)
  }
  const all = await decided()
  assert.deepEqual(
    all,
    all.map((_, n) => `${s.id}/${n}`),
  )
  assert.ok(all.length > 2)
  for (const [n, id] of all.entries()) assert.deepEqual(await decided(id), all.slice(n + 1), id)
})

test('a stream is for who may read the notification, and masks what they may not', async (t) => {
  const s = await followed()
  t.after(s.close)
  assert.equal((await s.follow('user:bob read:notifications')).status, 404)
  assert.equal((await s.follow('read:settings')).status, 403)
  const open = async (token: string) => {
    const reader = await s.follow(token)
    await reader.until((events) => stateOf(events, 'email') !== undefined)
    reader.cut()
    return reader
  }
  await s.call('PUT', '/v1/recipients/alice', { email: 'alice@example.com' })
  for (const token of ['user:alice read:notifications', 'read:delivery']) assert.equal((await open(token)).status, 200)
})

test('streams are bounded by reader and by process, and places become free', async (t) => {
  const s = await followed()
  t.after(s.close)
  const token = (n: number) => `user:reader-${n} read:delivery`
  const first = [await s.follow(token(1)), await s.follow(token(1))]
  assert.equal((await s.follow(token(1))).status, 429)
  await s.follow(token(2))
  await s.follow(token(2))
  const full = await s.follow(token(3))
  assert.deepEqual([full.status, full.headers['retry-after']], [503, '5'])
  first[0]?.cut()
  let status = 503
  while (status === 503) {
    const next = await s.follow(token(3))
    status = next.status
  }
  assert.equal(status, 200)
})

test('a stream beats while nothing happens, and ends with its credential', async (t) => {
  const ends: Array<() => void> = []
  const s = await followed({
    watch: (_request, _caller, end) => {
      ends.push(end)
      return () => {}
    },
    options: { notificationStreams: { ...rules, heartbeatMs: 20 } },
  })
  t.after(s.close)
  const reader = await s.follow()
  while (reader.beats() < 2) await new Promise(setImmediate)
  for (const end of ends) end()
  await reader.ended
})

test('a stream ends when its notification is erased, or its process stops', async (t) => {
  const s = await followed()
  t.after(s.close)
  const reader = await s.follow()
  await reader.until((events) => stateOf(events, 'in-app') === 'sent')
  await s.call('DELETE', '/v1/users/alice/data')
  await reader.ended
  assert.equal((await s.follow()).status, 404)
  const { id } = (await s.call('POST', '/v1/notify', { ...event, user_id: 'bob' })).body
  const port = (s.http.server.address() as AddressInfo).port
  const other = await readStream(`http://127.0.0.1:${port}/v1/notifications/${id}/stream`, 'read:delivery')
  await s.notify.stop()
  await other.ended
})
