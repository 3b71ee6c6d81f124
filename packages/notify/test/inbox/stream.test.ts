import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { PassThrough, Writable } from 'node:stream'
import { after, before, describe, type TestContext, test } from 'node:test'
import { createMetrics, type Database, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import { defaultOptions } from '../../src/config/options.ts'
import { createNotifyMetrics } from '../../src/context/metrics.ts'
import { InboxStreams } from '../../src/inbox/streams.ts'
import { deliveryIdOf, newId } from '../../src/model/id.ts'
import { embeddedDatabase } from '../support/engine/embedded.ts'
import { type DatabaseServer, postgresDatabase, startDatabaseServer } from '../support/engine/engine.ts'
import { eventually, type Setup, type SetupOptions, setup } from '../support/setup.ts'
import { type Reader, readStream, type StreamEvent } from '../support/stream-reader.ts'

const alices = 'user:alice read:notifications'
const newItemId = () => deliveryIdOf(newId(0), 'in-app')
const item = (id: string = newItemId(), userId: string = 'alice') => ({
  id,
  userId,
  event: 'e',
  body: 'b',
  createdAt: Date.UTC(2026, 0, 1),
})
const listIds = (events: readonly StreamEvent[]): string[] =>
  events.flatMap(({ data }) => (data.items ?? []).map((i: { id: string }) => i.id))
const { inboxStreams } = defaultOptions

interface Listening extends Setup {
  /** Opens a stream; it is cut when the test ends. */
  stream(token?: string, lastEventId?: number, userId?: string): Promise<Reader>
}

async function setupStreams(context: TestContext | undefined, options: SetupOptions = {}): Promise<Listening> {
  const s = await setup(options)
  const address = await s.http.listen({ port: 0, host: '127.0.0.1' })
  context?.after(() => s.close())
  return {
    ...s,
    stream: (token = alices, lastEventId = undefined, userId = 'alice') =>
      readStream(`${address}/v1/users/${userId}/inbox/stream`, token, lastEventId),
  }
}

test('an item is sent with the counts on the open streams of its user only', async (t) => {
  const s = await setupStreams(t)
  const [mine, bobs] = [await s.stream(), await s.stream('user:bob read:notifications', undefined, 'bob')]
  await bobs.until(({ length }) => length === 1)
  await mine.until(({ length }) => length === 1)
  assert.deepEqual(mine.events[0], {
    event: 'change',
    id: 0,
    data: { items: [], counts: { sequence: 0, total: 0, unseen: 0, unread: 0 } },
  })
  const one = newItemId()
  await s.store.inbox.put([item(one)])
  await mine.until(({ length }) => length === 2)
  assert.deepEqual(mine.events[1], {
    event: 'change',
    id: 1,
    data: {
      items: [{ id: one, event: 'e', body: 'b', created_at: '2026-01-01T00:00:00.000Z' }],
      counts: { sequence: 1, total: 1, unseen: 1, unread: 1 },
    },
  })
  assert.equal(bobs.events.length, 1)
})

test('an item on the stream has a receipt token only for readers who may read its text', async (t) => {
  const s = await setupStreams(t, { linkSecret: new Secret('a secret of thirty-two characters or more') })
  await s.store.inbox.put([item()])
  const [mine, masked] = [await s.stream(alices, 0), await s.stream('read:notifications', 0)]
  await Promise.all([mine, masked].map((reader) => reader.until((events) => listIds(events).length === 1)))
  const [own, others] = [mine, masked].map(({ events }) => events[0]?.data.items[0])
  const receipts = [{ token: own.receipt_token, report: 'opened' }]
  const answer = await s.http.inject({ method: 'POST', url: '/v1/receipts', payload: { receipts } })
  assert.deepEqual(answer.json(), { results: [{ status: 'accepted' }] })
  assert.equal('receipt_token' in others, false)
})

test('an item read in one window is sent to the other windows', async (t) => {
  const s = await setupStreams(t)
  const one = newItemId()
  await s.store.inbox.put([item(one)])
  const window = await s.stream()
  await window.until(({ length }) => length === 1)
  const answer = await s.call('POST', '/v1/users/alice/inbox/read', { ids: [one] }, 'user:alice write:preferences')
  assert.deepEqual(answer.body, { changed: 1, counts: { sequence: 2, total: 1, unseen: 0, unread: 0 } })
  await window.until(({ length }) => length === 2)
  assert.deepEqual(window.events[1]?.data.counts, answer.body.counts)
  assert.ok(window.events[1]?.data.items[0].read_at)
})

test('a reconnected stream continues after its last event without gaps or duplicates', async (t) => {
  const s = await setupStreams(t)
  const all = Array.from({ length: 130 }, newItemId)
  await s.store.inbox.put(all.slice(0, 2).map((id) => item(id)))
  const first = await s.stream(alices, 0)
  await first.until((events) => listIds(events).length === 2)
  first.cut()
  await s.store.inbox.put(all.slice(2).map((id) => item(id)))
  const second = await s.stream(alices, first.events.at(-1)?.id)
  await second.until((events) => listIds(events).length >= 128)
  assert.deepEqual([...listIds(first.events), ...listIds(second.events)], all)
})

test('a stream that is 1,000 changes behind, or ahead of an erased inbox, is asked to reload', async (t) => {
  const s = await setupStreams(t)
  await s.store.inbox.put(Array.from({ length: 1_001 }, () => item()))
  const behind = await s.stream(alices, 0)
  await behind.until(({ length }) => length === 1)
  assert.deepEqual([behind.events[0]?.event, behind.events[0]?.id], ['reset', 1_001])
  await s.store.privacy.eraseUser('alice')
  const ahead = await s.stream(alices, 1_001)
  await ahead.until(({ length }) => length === 1)
  assert.deepEqual([ahead.events[0]?.event, ahead.events[0]?.id], ['reset', 0])
})

test('a stream requires the feed scope, its own user and a valid Last-Event-ID', async (t) => {
  const s = await setupStreams(t)
  const status = async (token: string, path: string = 'alice', headers: Record<string, string> = {}) =>
    (
      await s.http.inject({
        url: `/v1/users/${path}/inbox/stream`,
        headers: { authorization: `Bearer ${token}`, ...headers },
      })
    ).statusCode
  assert.equal((await s.http.inject({ url: '/v1/users/alice/inbox/stream' })).statusCode, 401)
  assert.equal(await status('user:alice write:preferences'), 403)
  assert.equal(await status('user:mallory read:notifications'), 403)
  assert.equal(await status(alices, 'alice', { 'last-event-id': 'yesterday' }), 400)
})

test('a stream ends when its token expires', async (t) => {
  const clock = { now: () => 1_000 }
  const authenticate = () => ({
    subject: 'alice',
    kind: 'user' as const,
    roles: [],
    scopes: new Set(['read:notifications']),
    expiresAt: 1_050,
  })
  const s = await setupStreams(t, { database: await embeddedDatabase(), authenticate, clock: clock as never })
  const stream = await s.stream()
  await stream.ended
  assert.equal(stream.events.length, 1)
})

test('a stream ends when its credential is revoked, which is checked only while it is open', async (t) => {
  const watched = new Set<() => void>()
  const s = await setupStreams(t, {
    watch: (_request, _caller, end) => {
      watched.add(end)
      return () => watched.delete(end)
    },
  })
  const [revoked, left] = [await s.stream(), await s.stream()]
  await Promise.all([revoked, left].map((stream) => stream.until(({ length }) => length === 1)))
  const [end] = watched
  end?.()
  await revoked.ended
  await s.store.inbox.put([item()])
  await left.until(({ length }) => length === 2)
  left.cut()
  await eventually(
    async () => watched.size,
    (size) => size === 0,
  )
})

test('an idle stream sends heartbeats', async (t) => {
  const options = { inboxStreams: { ...inboxStreams, heartbeatMs: 5 } }
  const s = await setupStreams(t, { database: await embeddedDatabase(), options })
  const stream = await s.stream()
  while (stream.beats() < 3) await new Promise(setImmediate)
  assert.equal(stream.events.length, 1)
})

test('an open stream is reset at once when its user is erased, and is sent what comes then', async (t) => {
  const s = await setupStreams(t, { options: { inboxStreams: { ...inboxStreams, pollMs: 3_600_000 } } })
  const stream = await s.stream()
  await s.store.inbox.put([item()])
  await stream.until(({ length }) => length === 2)
  await s.store.privacy.eraseUser('alice')
  await stream.until(({ length }) => length === 3)
  assert.deepEqual([stream.events[2]?.event, stream.events[2]?.id], ['reset', 0])
  const later = newItemId()
  await s.store.inbox.put([item(later)])
  await stream.until(({ length }) => length === 4)
  assert.deepEqual(listIds(stream.events.slice(3)), [later])
})

test('where the inbox of one user cannot be read, the streams of that user alone end', async (t) => {
  const s = await setup({ database: await embeddedDatabase() })
  const { inbox } = s.store
  const streams = new InboxStreams({
    inbox: {
      ...inbox,
      news: (requests, limit) =>
        inbox.news(
          requests.filter(({ userId }) => userId !== 'bob'),
          limit,
        ),
    },
    masked: (items) => items,
    shown: (items) => items,
    rules: inboxStreams,
    log: silentLog,
    metrics: createNotifyMetrics(createMetrics()),
  })
  t.after(async () => {
    await streams.close()
    await s.close()
  })
  const open = (userId: string) => {
    const response = new PassThrough()
    streams.open({ userId, after: 0, response: response as unknown as ServerResponse, lifeMs: 60_000, masked: false })
    return response
  }
  const [alices, bobs] = [open('alice'), open('bob')]
  await once(bobs.resume(), 'end')
  await s.store.inbox.put([item()])
  while (!String((await once(alices, 'data'))[0]).includes('"total":1'));
  assert.equal(alices.writableEnded, false)
})

test('a reader that stops reading is disconnected and does not delay the others', async (t) => {
  const s = await setup({ database: await embeddedDatabase() })
  const metrics = createNotifyMetrics(createMetrics())
  const rules = { ...inboxStreams, heartbeatMs: 5 }
  const streams = new InboxStreams({
    inbox: s.store.inbox,
    masked: (items) => items,
    shown: (items) => items,
    rules,
    log: silentLog,
    metrics,
  })
  t.after(async () => {
    await streams.close()
    await s.close()
  })
  const written = new Map<string, string>([])
  const readerThat = (name: string, takes: boolean) =>
    new Writable({
      highWaterMark: 50,
      write(chunk, _encoding, done) {
        written.set(name, `${written.get(name) ?? ''}${chunk}`)
        if (takes) done()
      },
    })
  const open = (response: Writable) =>
    streams.open({ userId: 'alice', after: 0, response: response as ServerResponse, lifeMs: 60_000, masked: false })
  const hung = readerThat('hung', false)
  const gone = once(hung, 'close')
  open(hung)
  open(readerThat('quick', true))
  const all = [newItemId(), newItemId()]
  for (const id of all) {
    await s.store.inbox.put([item(id)])
    await eventually(
      async () => written.get('quick') ?? '',
      (text) => text.includes(id),
    )
  }
  await gone
  assert.ok(all.every((id) => written.get('quick')?.includes(id)))
  assert.equal(written.get('hung')?.match(/^event/gm)?.length, 1)
})

test('the number of streams is limited for each user and for the process', async (t) => {
  const s = await setupStreams(t, { options: { inboxStreams: { ...inboxStreams, max: 3, maxPerUser: 2 } } })
  const first = await s.stream()
  await s.stream()
  const third = await s.stream()
  assert.deepEqual([third.status, third.headers['retry-after']], [429, '30'])
  await s.stream('user:bob read:notifications', undefined, 'bob')
  assert.equal((await s.stream('user:carol read:notifications', undefined, 'carol')).status, 503)
  first.cut()
  let again = await s.stream()
  while (again.status !== 200) again = await s.stream()
})

test('a service that stops ends its streams first and does not wait for their readers', async () => {
  const s = await setupStreams(undefined)
  const stream = await s.stream()
  await stream.until(({ length }) => length === 1)
  await s.close()
  await stream.ended
})

describe('streams of two processes on one PostgreSQL', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())

  interface Pair {
    readonly a: Listening
    readonly b: Listening
    readonly database: Database
  }

  /** Two services, each with connections of its own, on one fresh database. */
  const withPair = (title: string, body: (pair: Pair) => Promise<void>) =>
    testWith('postgresql', title, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      const { rows } = await database.query<{ name: string }>('SELECT current_database() AS name')
      const url = new URL(server?.url ?? '')
      url.pathname = `/${rows[0]?.name}`
      const other = await openPostgres({ url: new Secret(url.href), log: silentLog })
      const [a, b] = [await setupStreams(undefined, { database }), await setupStreams(undefined, { database: other })]
      try {
        await body({ a, b, database })
      } finally {
        await b.close()
        await a.close()
      }
    })

  withPair('an item stored by one process is sent on the streams of the other', async ({ a, b }) => {
    const stream = await b.stream()
    await stream.until(({ length }) => length === 1)
    const one = newItemId()
    await a.store.inbox.put([item(one)])
    await stream.until((events) => listIds(events).includes(one))
  })

  withPair('streams that are cut and resumed at either process miss nothing and double nothing', async ({ a, b }) => {
    const all = Array.from({ length: 300 }, newItemId)
    const seen: string[] = []
    let cursor = 0
    const writers = Promise.all(
      [a, b, a, b].map(async ({ store }, writer) => {
        for (let n = writer; n < all.length; n += 4) await store.inbox.put([item(all[n])])
      }),
    )
    for (let turn = 0; seen.length < all.length; turn++) {
      const stream = await (turn % 2 === 0 ? a : b).stream(alices, cursor)
      const enough = Math.min(10, all.length - seen.length)
      await stream.until((events) => listIds(events).length >= enough)
      stream.cut()
      seen.push(...listIds(stream.events))
      cursor = stream.events.at(-1)?.id ?? cursor
    }
    await writers
    assert.equal(seen.length, all.length)
    assert.deepEqual(new Set(seen), new Set(all))
  })

  withPair('changes during an outage of the listening connection are sent after it', async ({ a, b, database }) => {
    const stream = await b.stream()
    await stream.until(({ length }) => length === 1)
    await a.store.inbox.put([item()])
    await stream.until(({ length }) => length === 2)
    const one = newItemId()
    await database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()`,
    )
    await a.store.inbox.put([item(one)])
    await stream.until((events) => listIds(events).includes(one))
  })
})
