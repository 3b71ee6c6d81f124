import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { apiKey, createGatehouse, type Gatehouse, type NotifyRequest, operations } from '../src/index.ts'
import { json, ScriptedServer } from './support/scripted-server.ts'

/** A client of a server that answers everything with this value, and what the server saw. */
function clientOf(value: unknown = { items: [] }) {
  const server = new ScriptedServer(() => json(value))
  const gatehouse = createGatehouse(server.options({ credentials: apiKey('gk_1') }))
  const seen = () =>
    server.requests.map(({ method, url, body }) => `${method} ${url.pathname}${url.search} ${body}`.trim())
  return { server, gatehouse, seen }
}

describe('the client', () => {
  test('has a method for every operation, as its id nests it', () => {
    const { gatehouse } = clientOf()
    for (const id of Object.keys(operations)) {
      const method = id.split('.').reduce((group: unknown, name) => (group as Record<string, unknown>)[name], gatehouse)
      assert.equal(typeof method, 'function', id)
    }
    assert.equal((gatehouse as unknown as { then?: unknown }).then, undefined, 'it can be returned by async functions')
  })

  test('sends the members of an input where they belong: path, query and body', async () => {
    const { gatehouse, seen } = clientOf()
    await gatehouse.deadLetters.list({ channel: 'sms', limit: 5 })
    await gatehouse.users.devices.register({ id: 'alice', device_id: 'phone', token: 't' })
    await gatehouse.eventTypes.delete({ event: 'order.shipped' })
    await gatehouse.deadLetters.replay({ id: 'd1' })
    await gatehouse.deadLetters.replayMany({ event: 'a', channel: 'email' })
    await gatehouse.caller.get()
    assert.deepEqual(seen(), [
      'GET /v1/dead-letters?channel=sms&limit=5',
      'PUT /v1/users/alice/devices/phone {"token":"t"}',
      'DELETE /v1/event-types/order.shipped',
      'POST /v1/dead-letters/d1/replay',
      'POST /v1/dead-letters/replay {"event":"a","channel":"email"}',
      'GET /admin/v1/me',
    ])
  })

  test('reads all pages of a list, with the cursor in the query or in the body', async () => {
    const server = new ScriptedServer((_, index) => json({ items: [index], ...(index % 2 === 0 ? { next: 'c' } : {}) }))
    const gatehouse = createGatehouse(server.options())
    const items: unknown[] = []
    for await (const item of gatehouse.eventTypes.list({ limit: 1 })) items.push(item)
    for await (const item of gatehouse.suppressions.search({ address: 'a@b.c' })) items.push(item)
    assert.deepEqual(items, [0, 1, 2, 3])
    assert.deepEqual(
      server.requests.map(({ url, body }) => [url.search, body]),
      [
        ['?limit=1', ''],
        ['?limit=1&cursor=c', ''],
        ['', '{"address":"a@b.c"}'],
        ['', '{"address":"a@b.c","cursor":"c"}'],
      ],
    )
  })

  test('notifies with the same random key at every attempt, or with that of the event', async () => {
    const server = new ScriptedServer((_, index) => (index === 0 ? 'broken' : json({ id: 'n1', deliveries: [] })))
    const gatehouse = createGatehouse(server.options())
    const event: NotifyRequest = { event: 'order.shipped', user_id: 'alice', data: {} }
    assert.deepEqual(await server.clock.settle(gatehouse.notify(event)), { id: 'n1', deliveries: [] })
    await gatehouse.notify(event)
    await gatehouse.notifications.send({ ...event, dedup_key: 'mine' })
    const keys = server.requests.map(({ body }) => JSON.parse(body).dedup_key)
    assert.match(keys[0], /^[\w-]{22}$/)
    assert.deepEqual([keys[1], keys[3]], [keys[0], 'mine'])
    assert.notEqual(keys[2], keys[0])
  })

  test('does not repeat what stores a new version each time', async () => {
    const server = new ScriptedServer(() => 503)
    const text = { template_id: 'a', channel: 'email', locale: 'en', body: { body: 'b' } } as const
    await assert.rejects(server.clock.settle(createGatehouse(server.options()).templates.update(text)))
    assert.equal(server.requests.length, 1)
  })

  test('reads a stream beside the pages of the same operation', async () => {
    const headers = { 'content-type': 'text/event-stream' }
    const stream = () => new Response('id: 1\ndata: {"sequence":1}\n\n', { headers })
    const server = new ScriptedServer(stream)
    const gatehouse = createGatehouse(server.options())
    for await (const { data } of gatehouse.stream('events.read', { state: 'bounced' })) {
      assert.deepEqual(data, { sequence: 1 })
      break
    }
    const [request] = server.requests
    assert.deepEqual([request?.url.search, request?.headers.get('accept')], ['?state=bounced', 'text/event-stream'])
  })

  test('sends no credentials to operations that are open to everybody', async () => {
    const { gatehouse, server } = clientOf()
    await gatehouse.openidConfiguration.get()
    await gatehouse.caller.get()
    assert.deepEqual(
      server.requests.map(({ headers }) => headers.get('x-api-key')),
      [null, 'gk_1'],
    )
  })
})

test('the documentation calls methods that there are', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/sdk.md'), 'utf8')
  const client = createGatehouse({ baseUrl: 'http://localhost:1' })
  const paths = [...text.matchAll(/gatehouse((?:\.\w+)+)\(/g)].map(([, path = '']) => path.slice(1).split('.'))
  assert.ok(paths.length > 8)
  for (const path of paths) {
    const method = path
      .filter((name) => name !== 'pages' && name !== 'take')
      .reduce((group: unknown, name) => (group as Record<string, unknown>)?.[name], client)
    assert.equal(typeof method, 'function', path.join('.'))
  }
})

test('no generated type has the name of something else that the package exports', () => {
  const read = (name: string) => readFileSync(join(import.meta.dirname, '../src', name), 'utf8')
  const generated = [...read('operations/types.gen.ts').matchAll(/^export (?:interface|type) (\w+)/gm)]
  const index = new Set(read('index.ts').match(/\w+/g))
  assert.ok(generated.length > 50)
  assert.deepEqual(
    generated.flatMap(([, name = '']) => (index.has(name) ? [name] : [])),
    [],
  )
})

/** Compiled, never run: what the types accept and refuse. */
export async function typesOfTheClient(gatehouse: Gatehouse): Promise<void> {
  const { id, deliveries } = await gatehouse.notify({ event: 'a', user_id: 'b', data: {}, channels: ['sms'] })
  const outcome: string = deliveries[0]?.outcome ?? id
  for await (const { event, priority } of gatehouse.eventTypes.list()) void [event satisfies string, priority, outcome]
  const { items, next } = await gatehouse.users.list({ limit: 1 })
  void [items[0]?.id satisfies string | undefined, next satisfies string | undefined]
  // @ts-expect-error an unknown member
  await gatehouse.notify({ event: 'a', user_id: 'b', data: {}, dedupe_key: 'x' })
  // @ts-expect-error a member of the wrong type
  await gatehouse.eventTypes.list({ limit: 'many' })
  // @ts-expect-error a missing path parameter
  await gatehouse.eventTypes.delete({})
  // @ts-expect-error a request takes the known members of an enumeration only
  await gatehouse.notify({ event: 'a', user_id: 'b', data: {}, channels: ['fax'] })
}
