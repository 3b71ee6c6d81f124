import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createMetrics, silentLog } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import { createNotify, type Provider } from '../../src/index.ts'
import { inChosenOrder } from '../../src/model/delivery/provider-order.ts'
import { notifyDatabase } from '../support/engine/database.ts'
import { postgresDatabase, postgresNotifyStore, startDatabaseServer } from '../support/engine/engine.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const caps = { total: 1_000, channels: {}, priorities: {} }
const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email'] }

/** Providers that accept everything, and note who did. */
function accepting(sent: string[], ...names: readonly string[]): Provider[] {
  return names.map((name) => ({
    name,
    channel: 'email',
    timeoutMs: 1_000,
    send: async (messages) =>
      messages.map(() => {
        sent.push(name)
        return { kind: 'accepted' }
      }),
  }))
}

async function send(s: Setup, method: 'GET' | 'PUT' | 'POST', url: string, payload?: object, ifMatch?: string) {
  const headers = {
    authorization: 'Bearer admin:notifications read:delivery',
    ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
  }
  const answer = await s.http.inject({ method, url, headers, ...(payload ? { payload } : {}) })
  return { status: answer.statusCode, body: JSON.parse(answer.body), etag: String(answer.headers.etag) }
}

test('the order that was chosen comes first, and what it does not name stays behind it', () => {
  const providers = ['a', 'b', 'c'].map((name) => ({ name }))
  const names = (chosen: readonly string[] | undefined) => inChosenOrder(providers, chosen).map(({ name }) => name)
  assert.deepEqual(names(undefined), ['a', 'b', 'c'])
  assert.deepEqual(names([]), ['a', 'b', 'c'])
  assert.deepEqual(names(['c', 'gone', 'a']), ['c', 'a', 'b'])
})

test('a new order of providers is followed within seconds, and names each of them once', async (t) => {
  const sent: string[] = []
  const s = await setup({ providers: { email: accepting(sent, 'first', 'second') }, options: { caps } })
  t.after(s.close)
  await seedEventType(s)
  const path = '/v1/providers/order?channel=email'
  const read = await send(s, 'GET', path)
  assert.deepEqual(read.body, { channel: 'email', providers: ['first', 'second'] })
  const put = (providers: readonly string[], ifMatch?: string) =>
    send(s, 'PUT', '/v1/providers/order', { channel: 'email', providers }, ifMatch)
  for (const wrong of [['second'], ['second', 'third'], ['first', 'second', 'third']])
    assert.equal((await put(wrong)).status, 422, wrong.join(' '))
  const changed = await put(['second', 'first'], read.etag)
  assert.deepEqual([changed.status, changed.body.providers], [200, ['second', 'first']])
  assert.equal((await put(['first', 'second'], read.etag)).status, 412, 'it was changed since it was read')
  const { items } = (await send(s, 'GET', '/v1/providers')).body
  assert.deepEqual(
    items.map(({ name, place }: { name: string; place: number }) => [name, place]),
    [
      ['second', 1],
      ['first', 2],
    ],
  )
  await eventually(
    async () => {
      const before = sent.length
      await s.call('POST', '/v1/notify', event)
      await eventually(
        async () => sent.length,
        (count) => count > before,
      )
      return sent.at(-1)
    },
    (last) => last === 'second',
  )
  const refused = await s.call('PUT', '/v1/providers/order', { channel: 'email', providers: [] }, 'read:delivery')
  assert.equal(refused.status, 403)
})

test('an order outlives a restart, and providers that are new come behind it', async (t) => {
  const sent: string[] = []
  const s = await setup({ work: false, providers: { email: accepting(sent, 'first', 'second') } })
  t.after(s.close)
  await send(s, 'PUT', '/v1/providers/order', { channel: 'email', providers: ['second', 'first'] })
  await s.store.providerOrders.put('sms', ['x'], s.clock.now())
  const again = await createNotify({
    store: postgresNotifyStore(s.database),
    providers: { email: accepting(sent, 'first', 'third', 'second') },
    options: { idleMs: 20, caps },
    authenticate: () => assert.fail('nobody asks'),
    clock: s.clock,
    log: silentLog,
    metrics: createMetrics(),
  })
  t.after(() => again.stop())
  await seedEventType(s)
  await again.accept([{ ...event, channels: ['email'] }])
  await eventually(
    async () => sent,
    (all) => all.length > 0,
  )
  assert.equal(sent[0], 'second')
})

test('no provider has the name that the path of the order has', async (t) => {
  const database = await notifyDatabase()
  t.after(() => database.close())
  const refused = setup({ database, work: false, providers: { email: accepting([], 'order') } })
  await assert.rejects(refused, /no provider may have the name order/)
})

describe('two administrators', () => {
  const contest = async (t: { after(work: () => Promise<void>): void }, database?: Setup['database']) => {
    const providers = { email: accepting([], 'first', 'second') }
    const s = await setup({ work: false, providers, ...(database ? { database } : {}) })
    t.after(s.close)
    for (const round of [0, 1, 2]) {
      const { etag } = await send(s, 'GET', '/v1/providers/order?channel=email')
      const orders = [
        ['first', 'second'],
        ['second', 'first'],
      ]
      const body = (providers: readonly string[] | undefined) => ({ channel: 'email', providers })
      const current = (await send(s, 'GET', '/v1/providers/order?channel=email')).body.providers
      const other = orders.filter((order) => order[0] !== current[0])
      const put = () => send(s, 'PUT', '/v1/providers/order', body(other[0]), etag)
      const answers = await Promise.all([put(), put(), put()])
      const statuses = answers.map(({ status }) => status).sort()
      assert.deepEqual(statuses, [200, 412, 412], `round ${round} of the order`)
      const tag = (await send(s, 'GET', '/v1/providers/first')).etag
      const pause = (hours: number) => {
        const until = new Date(s.clock.now() + (hours + round * 10) * 3_600_000).toISOString()
        return send(s, 'POST', '/v1/providers/first/pause', { until }, tag)
      }
      const paused = await Promise.all([pause(1), pause(2), pause(3)])
      assert.deepEqual(paused.map(({ status }) => status).sort(), [200, 412, 412], `round ${round} of the pause`)
    }
  }

  test('of those who change the same order or pause at once one wins', (t) => contest(t))

  testWith('postgresql', 'of those who change the same order or pause at once one wins on PostgreSQL', async (t) => {
    const server = await startDatabaseServer()
    t.after(() => server.stop())
    await contest(t, await postgresDatabase(server))
  })
})
