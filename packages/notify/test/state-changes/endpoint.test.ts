import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createMetrics, silentLog } from '@gatehouse/kit'
import { Agenda } from '../../src/agenda/agenda.ts'
import { defaultOptions } from '../../src/config/options.ts'
import { deliveryIdOf, newId, slotOfUser } from '../../src/model/id.ts'
import { writeChanges } from '../../src/postgres/timeline/outbox.ts'
import { startRetentionWorker } from '../../src/privacy/retention.ts'
import { eventually, type Setup, type SetupOptions, seedEventType, setup } from '../support/setup.ts'

const scope = 'read:events'
const day = 86_400_000

interface Event {
  readonly cursor: string
  readonly user_id: string
  readonly state: string
}

async function setupService(t: TestContext, { options = {}, ...settings }: SetupOptions = {}) {
  // Nobody is told of what these tests write themselves: where buckets are apart, the sweep finds it.
  const s = await setup({ ...settings, options: { sweepMs: 200, ...options } })
  t.after(s.close)
  return s
}

/** Writes changes as deliveries do, and waits until they are in the log. */
const writeEvents = (s: Setup, ...users: string[]) => writeEventsOf(s, 'order.shipped', ...users)

/** The same, of an event type. */
async function writeEventsOf(s: Setup, event: string, ...users: string[]): Promise<void> {
  const { last } = await s.store.stateChanges.positions()
  const changes = users.map((userId) => ({
    deliveryId: deliveryIdOf(newId(slotOfUser(userId)), 'email'),
    userId,
    channel: 'email' as const,
    event,
    state: 'sent' as const,
    at: s.clock.now(),
  }))
  await s.database.transaction((tx) => Promise.all(writeChanges({ count: 1 }, changes).map((query) => tx.query(query))))
  await eventually(
    () => s.store.stateChanges.positions(),
    (positions) => positions.last === last + users.length,
  )
}

const readEvents = (s: Setup, query: string, scopes = scope) => s.call('GET', `/v1/events${query}`, undefined, scopes)
const usersOf = (events: readonly Event[]) => events.map(({ user_id }) => user_id)

test('state changes are readable as events without NATS or other settings', async (t) => {
  const s = await setupService(t)
  await seedEventType(s)
  const request = { event: 'order.shipped', user_id: 'alice', data: { order_id: 1 }, channels: ['sms'] }
  const { body } = await s.call('POST', '/v1/notify', request)
  const page = await eventually(
    () => readEvents(s, ''),
    (answer) => answer.body.items.length === 1,
  )
  const [{ id, cursor, at, ...event }] = page.body.items
  assert.deepEqual(event, {
    delivery_id: body.deliveries[0].id,
    notification_id: body.id,
    user_id: 'alice',
    channel: 'sms',
    event: 'order.shipped',
    state: 'sent',
  })
  assert.deepEqual([page.body.next, page.body.more], [cursor, false])
  assert.deepEqual((await readEvents(s, `?cursor=${cursor}`)).body, { items: [], next: cursor, more: false })
})

test('pages continue at their cursors, and each event is returned once', async (t) => {
  const s = await setupService(t)
  const users = Array.from({ length: 7 }, (_, n) => `user-${n}`)
  await writeEvents(s, ...users)
  const seen: string[] = []
  for (let after = '', more = true; more; ) {
    const { body } = await readEvents(s, `?limit=3${after}`)
    seen.push(...usersOf(body.items))
    after = `&cursor=${body.next}`
    more = body.more
  }
  assert.deepEqual(seen, users)
})

for (const [who, scopes, status] of [
  ['a client with the scope', 'read:events', 200],
  ['a client of the management', 'admin:notifications read:delivery read:personal-data', 403],
  ['a producer', 'write:notifications read:notifications', 403],
  ['a user, whatever their token holds', 'user:alice read:events admin:notifications', 403],
] as const)
  test(`${who} reads events: ${status}`, async (t) => {
    const s = await setupService(t)
    const answer = await readEvents(s, '', scopes)
    assert.equal(answer.status, status)
    if (status === 403) assert.match(String(answer.headers['www-authenticate']), /scope="read:events"/)
  })

for (const query of ['?cursor=x', '?cursor=-1', '?limit=0', '?limit=1001', '?wait=31', '?state=lost', '?colour=red'])
  test(`the query ${query} is rejected`, async (t) => {
    assert.equal((await readEvents(await setupService(t), query)).status, 400)
  })

test('a cursor older than the retention is answered 410 with a valid one', async (t) => {
  const s = await setupService(t, { work: true })
  await writeEvents(s, 'old')
  s.clock.advance(10 * day)
  await writeEvents(s, 'new')
  const { privacy, stateChanges } = s.store
  const retention = { ...defaultOptions.retention, stateChangeDays: 7 }
  const agenda = new Agenda({ sweepMs: day })
  agenda.own([0])
  const about = { privacy, stateChanges, publishes: false, agenda, retention, clock: s.clock, log: silentLog }
  const worker = startRetentionWorker(about)
  t.after(() => worker.stop())
  const gone = await eventually(
    () => readEvents(s, '?cursor=0'),
    (answer) => answer.status === 410,
  )
  assert.match(gone.body.detail, /no longer kept/)
  assert.equal(gone.body.oldest, '1')
  assert.deepEqual(usersOf((await readEvents(s, `?cursor=${gone.body.oldest}`)).body.items), ['new'])
  assert.deepEqual(usersOf((await readEvents(s, '')).body.items), ['new'])
})

test('a cursor ahead of the outbox, as after a restore, is answered 410', async (t) => {
  const s = await setupService(t)
  await writeEvents(s, 'a')
  const answer = await readEvents(s, '?cursor=2')
  assert.equal(answer.status, 410)
  assert.match(answer.body.detail, /ahead of the last event, 1/)
})

test('a service without events says so in its answer', async (t) => {
  const changeReaders = { ...defaultOptions.changeReaders, enabled: false }
  const answer = await readEvents(await setupService(t, { options: { changeReaders } }), '')
  assert.equal(answer.status, 404)
  assert.match(answer.body.detail, /notify\.events\.enabled/)
})

test('the erasure of a user includes their events', async (t) => {
  const s = await setupService(t)
  await writeEvents(s, 'alice', 'bob', 'alice')
  assert.equal((await s.call('GET', '/v1/users/alice/data')).body.data.state_change.length, 2)
  await s.call('DELETE', '/v1/users/alice/data')
  const { body } = await readEvents(s, '')
  assert.deepEqual([usersOf(body.items), body.next], [['bob'], '3'])
})

test('a waiting reader is answered as soon as an event matches its filter', async (t) => {
  const s = await setupService(t)
  await writeEvents(s, 'before')
  const waiting = readEvents(s, '?cursor=1&wait=30')
  const filtered = readEvents(s, '?cursor=1&wait=30&event=order.paid')
  await writeEvents(s, 'alice')
  assert.deepEqual(usersOf((await waiting).body.items), ['alice'])
  await writeEventsOf(s, 'order.paid', 'bob')
  const { items, next } = (await filtered).body
  assert.deepEqual([usersOf(items), next], [['bob'], '3'])
})

test('a reader that waits in vain for its filter gets a cursor behind what does not match', async (t) => {
  const s = await setupService(t)
  await writeEvents(s, 'before', 'alice')
  const { body } = await readEvents(s, '?cursor=1&wait=1&state=opened')
  assert.deepEqual(body, { items: [], next: '2', more: false })
})

test('a reader that waits in vain gets an empty page with its cursor', async (t) => {
  const s = await setupService(t)
  await writeEvents(s, 'before')
  assert.deepEqual((await readEvents(s, '?cursor=1&wait=1')).body, { items: [], next: '1', more: false })
})

test('waiting readers are limited for each client and in total, and all are answered', async (t) => {
  const metrics = createMetrics()
  const changeReaders = { ...defaultOptions.changeReaders, max: 2, maxPerClient: 1 }
  const s = await setupService(t, {
    metrics,
    options: { changeReaders },
    authenticate: ({ headers }) => ({
      subject: String(headers['x-client'] ?? 'one'),
      scopes: new Set([scope]),
      roles: [],
      kind: 'client',
    }),
  })
  const ask = (client: string, wait: number) =>
    s.http.inject({ method: 'GET', url: `/v1/events?wait=${wait}`, headers: { 'x-client': client } })
  const count = (wanted: number) =>
    eventually(
      () => metrics.metrics(),
      (text) => text.includes(`notify_change_readers ${wanted}\n`),
    )
  const first = ask('one', 30)
  await count(1)
  const again = await ask('one', 30)
  assert.deepEqual([again.statusCode, again.headers['retry-after']], [429, '5'])
  const second = ask('two', 30)
  await count(2)
  assert.equal((await ask('three', 30)).statusCode, 503)
  assert.equal((await ask('three', 0)).statusCode, 200, 'who does not wait takes no place')
  await writeEvents(s, 'alice')
  assert.deepEqual([(await first).statusCode, (await second).statusCode], [200, 200])
  await count(0)
})

test('a waiting reader whose credential is revoked is answered 401 without events', async (t) => {
  const watched: (() => void)[] = []
  let stopped = 0
  const s = await setupService(t, {
    watch: (_request, _caller, end) => {
      watched.push(end)
      return () => stopped++
    },
  })
  await writeEvents(s, 'before')
  const waiting = readEvents(s, '?cursor=1&wait=30')
  await eventually(
    async () => watched.length,
    (count) => count === 1,
  )
  watched[0]?.()
  const answer = await waiting
  assert.equal(answer.status, 401)
  assert.match(String(answer.headers['www-authenticate']), /invalid_token/)
  assert.equal(stopped, 1, 'it is watched no longer')
})

/** A stream of events over a real connection. */
async function openStream(s: Setup, headers: Record<string, string> = {}) {
  const address = await s.http.listen({ port: 0, host: '127.0.0.1' }).catch(() => s.http.listeningOrigin)
  const cutting = new AbortController()
  const answer = await fetch(`${address}/v1/events`, {
    headers: { authorization: `Bearer ${scope}`, accept: 'text/event-stream', ...headers },
    signal: cutting.signal,
  })
  assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader() ?? assert.fail('no body')
  let text = ''
  return {
    cut: () => cutting.abort(),
    async until(wanted: string) {
      while (!text.includes(wanted)) {
        const { done, value = '' } = await reader.read()
        if (done) assert.fail(`it ended with ${text}`)
        text += value
      }
      return text
    },
    ids: () => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id),
  }
}

test('a stream sends existing and new events, and resumes after Last-Event-ID', async (t) => {
  const s = await setupService(t)
  await writeEvents(s, 'first')
  const one = await openStream(s)
  await one.until('"first"')
  await writeEvents(s, 'second')
  const text = await one.until('"second"')
  assert.deepEqual(one.ids(), ['1', '2'])
  assert.match(text, /^id: 2\ndata: \{"cursor":"2",/m)
  one.cut()
  await writeEvents(s, 'third')
  const two = await openStream(s, { 'last-event-id': '2' })
  await two.until('"third"')
  assert.deepEqual(two.ids(), ['3'])
  two.cut()
})

test('a stream whose reader stops reading is closed and does not delay others', async (t) => {
  const metrics = createMetrics()
  const changeReaders = { ...defaultOptions.changeReaders, heartbeatMs: 100 }
  const s = await setupService(t, { metrics, options: { changeReaders } })
  const users = Array.from({ length: 1_000 }, (_, n) => `${n} ${'x'.repeat(200)}`)
  for (let i = 0; i < 20; i++) await writeEvents(s, ...users)
  const { port } = new URL(await s.http.listen({ port: 0, host: '127.0.0.1' }))
  const socket = connect({ port: Number(port), host: '127.0.0.1' })
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  socket.pause()
  socket.write(
    `GET /v1/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${scope}\r\naccept: text/event-stream\r\n\r\n`,
  )
  const readers = (wanted: number) =>
    eventually(
      () => metrics.metrics(),
      (text) => text.includes(`notify_change_readers ${wanted}\n`),
    )
  await readers(1)
  const live = await openStream(s, { 'last-event-id': '20000' })
  await writeEvents(s, 'alice')
  await live.until('"alice"')
  await readers(1)
  live.cut()
  await readers(0)
})

test('streams and waiting readers end when the service stops', async () => {
  const s = await setup()
  const waiting = readEvents(s, '?wait=30')
  const open = await openStream(s)
  await s.close()
  assert.equal((await waiting).status, 200)
  await assert.rejects(open.until('never'), /it ended/)
})
