import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, startPostgres, testWith } from '@gatehouse/testing'
import { fileWith, limitRules } from '../../support/limits.ts'
import { administrators, clientToken, consoleClient, tokenOf } from '../../support/management/administrators.ts'
import { responseOf, setup } from '../../support/setup.ts'

const gateway = { client_id: 'gateway', client_secret: 'gateway-secret-0123456789', scopes: ['follow:limits'] }
const shop = { client_id: 'shop', client_secret: 'shop-secret-0123456789', policy: 'search' }
const registrar = {
  client_id: 'registrar',
  client_secret: 'registrar-secret-0123456789',
  scopes: ['admin:clients'],
}
const file = fileWith(10, { pro: { rpm: 100 } })

async function start(database?: Database, declared: object = {}) {
  const users = [...administrators, { id: 'vip', plan: 'pro' }, { id: 'old', plan: 'gold' }]
  const running = await setup(
    {
      declared: { clients: [consoleClient, gateway, shop, registrar], users, ...declared },
      limitRules: limitRules(file),
    },
    database,
  )
  const owner = await tokenOf(running, 'gatehouse-owner')
  const process = await clientToken(running, gateway.client_id, gateway.client_secret)
  const send = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object, token = owner) => {
    const request = { method, url, headers: { authorization: `Bearer ${token}` } }
    return responseOf(await running.http.inject(payload === undefined ? request : { ...request, payload }))
  }
  const followed = async () => {
    const { body } = await send('GET', '/admin/v1/limit-settings/feed', undefined, process)
    return body.clients
  }
  return { running, send, followed, process }
}

const client = (id: string) => `/admin/v1/clients/${id}`

for (const engine of ['embedded', 'postgres'] as const) {
  const run = engine === 'embedded' ? test : testWith.bind(undefined, 'postgresql')
  run(`gateways follow the policies of clients, on ${engine}`, async (t) => {
    const server = engine === 'postgres' ? await startPostgres() : undefined
    if (server) t.after(() => server.stop())
    const database = server && (await postgresDatabase(server))
    const { running, send, followed } = await start(database)
    t.after(async () => {
      await running.close()
      await database?.close()
    })
    assert.deepEqual(await followed(), [{ client: 'shop', policy: 'search' }])
    const made = await send('POST', '/admin/v1/clients', { client_id: 'importer', policy: 'pro' })
    assert.equal(made.status, 201, made.text)
    assert.deepEqual(await followed(), [
      { client: 'importer', policy: 'pro' },
      { client: 'shop', policy: 'search' },
    ])
    const found = await send('GET', '/admin/v1/clients?policy=pro')
    assert.deepEqual(
      (found.body.items as { client_id: string; policy: string }[]).map(({ client_id: id, policy }) => [id, policy]),
      [['importer', 'pro']],
    )
    const ended = await send('PATCH', client('importer'), { policy: null })
    assert.deepEqual([ended.status, ended.body.policy], [200, undefined], ended.text)
    assert.equal((await send('DELETE', client('shop'))).status, 204)
    assert.deepEqual(await followed(), [])
  })

  run(`a tier lists the users and clients whose plan it is, page by page, on ${engine}`, async (t) => {
    const server = engine === 'postgres' ? await startPostgres() : undefined
    if (server) t.after(() => server.stop())
    const database = server && (await postgresDatabase(server))
    const { running, send } = await start(database)
    t.after(async () => {
      await running.close()
      await database?.close()
    })
    const callers = async (tier: string, query = '') =>
      (await send('GET', `/admin/v1/limit-settings/tiers/${tier}/callers${query}`)).body as {
        items: { kind: string; id: string; plan?: string }[]
        next?: string
      }
    assert.deepEqual((await callers('pro')).items, [{ kind: 'user', id: 'vip', plan: 'pro' }])
    const all = (await callers('free')).items
    assert.deepEqual(
      all.filter(({ id }) => ['old', 'shop', 'owner', 'vip'].includes(id)),
      [
        { kind: 'client', id: 'shop', policy: 'search' },
        { kind: 'user', id: 'owner', plan: 'free' },
        { kind: 'user', id: 'old', plan: 'gold' },
      ],
      'the lowest tier has those without a plan, and of unknown plans',
    )
    const seen: unknown[] = []
    for (let next: string | undefined = ''; next !== undefined; ) {
      const page = await callers('free', `?limit=2${next === '' ? '' : `&cursor=${encodeURIComponent(next)}`}`)
      assert.ok(page.items.length <= 2)
      seen.push(...page.items)
      next = page.next
    }
    assert.deepEqual(seen, all)
    assert.equal((await send('GET', '/admin/v1/limit-settings/tiers/gone/callers')).status, 404)
  })

  run(`a tier lists the API keys with a plan of their own until they expire, on ${engine}`, async (t) => {
    const server = engine === 'postgres' ? await startPostgres() : undefined
    if (server) t.after(() => server.stop())
    const database = server && (await postgresDatabase(server))
    const { running, send } = await start(database)
    t.after(async () => {
      await running.close()
      await database?.close()
    })
    const keyOf = async (members: object) => {
      const made = await send('POST', '/admin/v1/api-keys', { owner: 'vip', name: 'k', ...members })
      assert.equal(made.status, 201, made.text)
      return made.body as { id: string; counter_id: string }
    }
    const pro = await keyOf({ plan: 'pro', name: 'fast' })
    await keyOf({ name: 'as its owner' })
    const expiresAt = new Date(running.clock.now() + 60_000).toISOString()
    const short = await keyOf({ plan: 'pro', name: 'short', expires_at: expiresAt })
    const ofKeyAlone = await keyOf({ plan: 'pro', name: 'of a tier that is gone since' })
    await running.database.query("UPDATE identity.api_key SET plan = 'gone' WHERE id = $1", [ofKeyAlone.id])
    const callers = async (tier: string, query = '') => {
      const { body } = await send('GET', `/admin/v1/limit-settings/tiers/${tier}/callers?limit=1${query}`)
      return body as { items: { kind: string; id: string; key?: { id: string } }[]; next?: string }
    }
    const keysOf = async (tier: string) => {
      const found = []
      for (let next: string | undefined = ''; next !== undefined; ) {
        const page = await callers(tier, next === '' ? '' : `&cursor=${encodeURIComponent(next)}`)
        found.push(...page.items.filter(({ kind }) => kind === 'key'))
        next = page.next
      }
      return found
    }
    const ids = async (tier: string) => (await keysOf(tier)).map(({ key }) => key?.id).sort()
    assert.deepEqual(await ids('pro'), [pro.id, short.id].sort())
    const listed = (await keysOf('pro')).find(({ id }) => id === pro.counter_id)
    assert.deepEqual(listed, {
      kind: 'key',
      id: pro.counter_id,
      key: { id: pro.id, name: 'fast', owner: 'vip' },
      plan: 'pro',
    })
    assert.deepEqual(await ids('free'), [ofKeyAlone.id], 'of an unknown plan, which no user has')
    running.clock.advance(60_000)
    assert.deepEqual(await ids('pro'), [pro.id])
  })
}

test('a client has only a policy that there is, and keeps one that is gone when it is edited', async (t) => {
  const { running, send } = await start()
  t.after(() => running.close())
  const refused = await send('PATCH', client('shop'), { policy: 'gone' })
  const [fault] = refused.body.errors as { pointer: string; detail: string }[]
  assert.deepEqual([refused.status, fault?.pointer], [422, '/policy'], refused.text)
  assert.match(String(fault?.detail), /^there is no tier or policy "gone"; there are .*search/)
  assert.equal((await send('POST', '/admin/v1/clients', { client_id: 'x', policy: 'gone' })).status, 422)
  assert.equal((await send('DELETE', '/admin/v1/limit-settings/policies/search')).status, 204)
  const renamed = await send('PATCH', client('shop'), { client_name: 'The shop' })
  assert.deepEqual([renamed.status, renamed.body.policy], [200, 'search'], renamed.text)
})

test('whoever changes the policy of a client needs admin:limits besides admin:clients', async (t) => {
  const { running, send } = await start()
  t.after(() => running.close())
  const token = await clientToken(running, registrar.client_id, registrar.client_secret)
  const by = (method: 'POST' | 'PATCH', url: string, payload: object) => send(method, url, payload, token)
  for (const refused of [
    await by('POST', '/admin/v1/clients', { client_id: 'importer', policy: 'pro' }),
    await by('PATCH', client('shop'), { policy: 'pro' }),
    await by('PATCH', client('shop'), { policy: null }),
  ]) {
    assert.equal(refused.status, 403, refused.text)
    assert.match(String(refused.body.detail), /policy of a client requires scopes that you lack: admin:limits/)
  }
  const renamed = await by('PATCH', client('shop'), { client_name: 'The shop', policy: 'search' })
  assert.deepEqual([renamed.status, renamed.body.policy], [200, 'search'], renamed.text)
  assert.equal((await by('POST', '/admin/v1/clients', { client_id: 'importer' })).status, 201)
})

test('the audit trail has the policy of a client before and after', async (t) => {
  const { running, send } = await start()
  t.after(() => running.close())
  const { headers } = await send('PATCH', client('shop'), { policy: 'pro' })
  const { body } = await send('GET', `/admin/v1/audit-events?request_id=${headers['x-request-id']}`)
  const changes = (body.items as { before?: object; after?: object }[]).map(({ before, after }) => ({ before, after }))
  assert.deepEqual(changes[0], { before: { policy: 'search' }, after: { policy: 'pro' } })
})

test('a start with a client whose policy the file does not have says which there are', async () => {
  const clients = [consoleClient, gateway, { ...shop, policy: 'serach' }]
  await assert.rejects(
    start(undefined, { clients }),
    /client shop: policy: there is no tier or policy "serach"; there are free, pro, search/,
  )
})

test('overrides are found by the policy that they name', async (t) => {
  const { running, send } = await start()
  t.after(() => running.close())
  const until = new Date(running.clock.now() + 60_000).toISOString()
  const put = (id: string, payload: object) =>
    running.http.inject({
      ...{
        method: 'PUT',
        url: `/admin/v1/limit-overrides/user/${id}`,
        payload: { until, reason: 'a test', ...payload },
      },
      headers: { authorization: `Bearer ${ownerToken}` },
    })
  const ownerToken = await tokenOf(running, 'gatehouse-owner')
  assert.equal((await put('vip', { policy: 'pro' })).statusCode, 200)
  assert.equal((await put('old', { factor: 2 })).statusCode, 200)
  const { body } = await send('GET', '/admin/v1/limit-overrides?policy=pro')
  assert.deepEqual(
    (body.items as { id: string }[]).map(({ id }) => id),
    ['vip'],
  )
})
