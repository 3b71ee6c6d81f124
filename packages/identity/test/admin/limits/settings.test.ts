import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { fileWith, limitRules } from '../../support/limits.ts'
import { administrators, clientToken, consoleClient, tokenOf } from '../../support/management/administrators.ts'
import { responseOf, setup } from '../../support/setup.ts'

const gateway = { client_id: 'gateway', client_secret: 'gateway-secret-0123456789', scopes: ['follow:limits'] }
const limiter = { ...gateway, client_id: 'limiter', scopes: ['admin:limits'] }
const stranger = { ...gateway, client_id: 'stranger' }
const path = '/admin/v1/limit-settings'
const free = `${path}/tiers/free`

interface Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly url: string
  readonly payload?: object
  readonly headers?: Record<string, string>
}

async function start(database?: Database) {
  const declared = { clients: [consoleClient, gateway, limiter, stranger], users: [...administrators] }
  const running = await setup({ declared, limitRules: limitRules() }, database)
  const owner = await tokenOf(running, 'gatehouse-owner')
  const process = await clientToken(running, gateway.client_id, gateway.client_secret)
  const other = await clientToken(running, stranger.client_id, stranger.client_secret)
  const send = async ({ headers, ...request }: Request, token = owner) =>
    responseOf(await running.http.inject({ ...request, headers: { authorization: `Bearer ${token}`, ...headers } }))
  return { running, process, other, send }
}

const put = (url: string, rpm: number, ifMatch?: string): Request => ({
  method: 'PUT',
  url,
  payload: { declaration: { rpm }, comment: `to ${rpm}` },
  ...(ifMatch === undefined ? {} : { headers: { 'if-match': ifMatch } }),
})

test('limits on attempts are changed by owners alone, also by activating another version', async (t) => {
  const { running, send } = await start()
  t.after(() => running.close())
  const operator = await tokenOf(running, 'gatehouse-operator')
  for (const name of ['login', 'factor', 'email-code-entry']) {
    const refused = await send(put(`${path}/policies/${name}`, 1_000), operator)
    assert.equal(refused.status, 403, refused.text)
    assert.match(String(refused.body.detail), /changed by owners alone/)
  }
  assert.equal((await send(put(`${path}/policies/search`, 30), operator)).status, 200)
  assert.equal((await send(put(`${path}/policies/factor`, 20))).status, 200)
  const back: Request = { method: 'POST', url: `${path}/versions/2/activate`, payload: {} }
  assert.equal((await send(back, operator)).status, 403, 'version 2 has no such limit')
  assert.equal((await send(back)).status, 200)
})

describe('stored limits', () => {
  let app: Awaited<ReturnType<typeof start>>
  before(async () => {
    app = await start()
  })
  after(() => app.running.close())

  test('the limits of the file are the first version', async () => {
    const { body } = await app.send({ method: 'GET', url: path })
    assert.deepEqual([body.version, body.origin, body.drift], [1, 'file', []])
    assert.deepEqual(body.tiers, { free: { rpm: 10 } })
  })

  test('an edit is a version with author, comment and difference to the file', async () => {
    const made = await app.send(put(free, 20))
    assert.deepEqual([made.status, made.body.version], [200, 2], made.text)
    const { body, headers } = await app.send({ method: 'GET', url: path })
    assert.deepEqual(
      [body.version, body.origin, body.author, body.comment, body.drift, headers.etag],
      [2, 'edit', 'owner', 'to 20', ['tiers/free'], '"2"'],
    )
    const one = await app.send({ method: 'GET', url: free })
    assert.deepEqual([one.body.declaration, one.body.file], [{ rpm: 20 }, { rpm: 10 }])
  })

  test('what is not allowed is refused with the reason, and stores nothing', async () => {
    const refused = await app.send(put(free, 1_001))
    assert.deepEqual([refused.status, refused.body.detail], [422, 'policy "free": at most 1000 a minute.'])
    const errors = [{ pointer: '/declaration/rpm', detail: 'at most 1000 a minute' }]
    assert.deepEqual(refused.body.errors, errors)
    assert.equal((await app.send(put(free, 0))).status, 400)
    const last = await app.send({ method: 'DELETE', url: free })
    assert.match(String(last.body.detail), /there must be at least one/)
    const payload = { kind: 'tiers', name: 'free', declaration: { rpm: 2_000 } }
    const checked = await app.send({ method: 'POST', url: `${path}/validate`, payload })
    assert.deepEqual(checked.body, { valid: false, fault: 'policy "free": at most 1000 a minute', errors })
    assert.equal((await app.send({ method: 'GET', url: path })).body.version, 2)
    assert.equal((await app.send(put(`${path}/tiers/${encodeURIComponent('a b')}`, 1))).status, 400)
    assert.equal((await app.send({ method: 'GET', url: `${path}/tiers/toString` })).status, 404)
  })

  test('an earlier version is activated again as a new one, and all stay in the list', async () => {
    const url = `${path}/versions/1/activate`
    const old = await app.send({ method: 'POST', url, payload: {}, headers: { 'if-match': '"1"' } })
    assert.equal(old.status, 412)
    const made = await app.send({ method: 'POST', url, payload: { comment: 'too high' } })
    assert.deepEqual([made.status, made.body.version, made.body.restored], [200, 3, 1], made.text)
    const list = await app.send({ method: 'GET', url: `${path}/versions?limit=2` })
    const items = list.body.items as { version: number; origin: string }[]
    assert.deepEqual(
      items.map(({ version, origin }) => [version, origin]),
      [
        [3, 'rollback'],
        [2, 'edit'],
      ],
    )
    const rest = await app.send({ method: 'GET', url: `${path}/versions?cursor=${list.body.next}` })
    assert.deepEqual((rest.body.items as object[]).length, 1)
    assert.deepEqual((await app.send({ method: 'GET', url: `${path}/versions/2` })).body.tiers, { free: { rpm: 20 } })
    assert.equal((await app.send({ method: 'GET', url: `${path}/versions/9` })).status, 404)
  })

  test('a gateway reads what changed since its entity tag, and its report is shown while it lives', async () => {
    const feed = (etag?: string) =>
      app.send(
        { method: 'GET', url: `${path}/feed`, ...(etag === undefined ? {} : { headers: { 'if-none-match': etag } }) },
        app.process,
      )
    const first = await feed()
    assert.deepEqual([first.status, first.body.version], [200, 3])
    assert.equal((await feed(first.headers.etag)).status, 304)
    const payload = { host: 'gw-1', services: ['gateway'], version: 2, fault: 'route /a: there is no policy "b"' }
    const reported = await app.send({ method: 'PUT', url: `${path}/gateways/g1`, payload }, app.process)
    assert.equal(reported.status, 204, reported.text)
    const live = async () => (await app.send({ method: 'GET', url: `${path}/gateways` })).body.items as object[]
    assert.partialDeepStrictEqual(await live(), [{ id: 'g1', ...payload }])
    const forged = { ...payload, version: 3, fault: undefined }
    const other = await app.send({ method: 'PUT', url: `${path}/gateways/g1`, payload: forged }, app.other)
    assert.equal(other.status, 403, 'another client reports another process')
    assert.partialDeepStrictEqual(await live(), [{ id: 'g1', ...payload }])
    app.running.clock.advance(91_000)
    assert.deepEqual(await live(), [])
    assert.equal((await app.send({ method: 'GET', url: `${path}/feed` })).status, 403, 'no person follows limits')
  })

  test('an override ends by itself, and the feed has it until then', async () => {
    const url = '/admin/v1/limit-overrides/ip/192.0.2.1'
    const until = new Date(app.running.clock.now() + 60_000).toISOString()
    const set = (payload: object) => app.send({ method: 'PUT', url, payload })
    assert.equal((await set({ factor: 2, policy: 'free', until, reason: 'a' })).status, 422)
    assert.match((await set({ policy: 'gold', until, reason: 'a' })).text, /there is no tier or policy .*gold/)
    assert.equal((await set({ factor: 2, until: new Date(0).toISOString(), reason: 'a' })).status, 422)
    assert.equal((await set({ factor: 2, until, reason: 'a launch' })).status, 200)
    const overrides = async () =>
      (await app.send({ method: 'GET', url: `${path}/feed` }, app.process)).body.overrides as object[]
    assert.partialDeepStrictEqual(await overrides(), [{ kind: 'ip', id: '192.0.2.1', factor: 2 }])
    const support = await tokenOf(app.running, 'gatehouse-support')
    const masked = await app.send({ method: 'GET', url: '/admin/v1/limit-overrides' }, support)
    assert.deepEqual((masked.body.items as { id: string }[])[0]?.id, '192.0.2.0/24')
    assert.equal(
      (await app.send({ method: 'GET', url }, support)).status,
      403,
      'which of the network it is stays hidden',
    )
    app.running.clock.advance(60_001)
    assert.deepEqual(await overrides(), [])
    assert.equal((await app.send({ method: 'GET', url })).status, 404)
  })

  test('the cursor of overrides shows no id that is masked', async () => {
    const until = new Date(app.running.clock.now() + 60_000).toISOString()
    const ids = ['192.0.2.7', '192.0.2.8', '192.0.2.9']
    for (const id of ids) {
      const url = `/admin/v1/limit-overrides/ip/${id}`
      await app.send({ method: 'PUT', url, payload: { factor: 2, until, reason: id } })
    }
    const support = await tokenOf(app.running, 'gatehouse-support')
    const reasons: unknown[] = []
    for (let next: unknown = ''; next !== undefined; ) {
      const after = next === '' ? '' : `&cursor=${encodeURIComponent(String(next))}`
      const url = `/admin/v1/limit-overrides?limit=1${after}`
      const { body } = await app.send({ method: 'GET', url }, support)
      reasons.push(...(body.items as { reason: string }[]).map(({ reason }) => reason))
      next = body.next
      assert.doesNotMatch(String(next), /192\.0\.2/)
    }
    assert.deepEqual(reasons.sort(), ids)
    app.running.clock.advance(60_001)
  })

  test('whether an address has an override stays hidden where it is masked, also in deletions', async () => {
    const until = new Date(app.running.clock.now() + 60_000).toISOString()
    const urlOf = (id: string) => `/admin/v1/limit-overrides/${id}`
    const payload = { factor: 2, until, reason: 'a launch' }
    const set = ['ip/198.51.100.7', 'user/zelda']
    for (const id of set) await app.send({ method: 'PUT', url: urlOf(id), payload })
    const token = await clientToken(app.running, limiter.client_id, limiter.client_secret)
    for (const method of ['GET', 'DELETE'] as const) {
      const answers = await Promise.all(
        ['198.51.100.7', '198.51.100.8'].map(async (address) => {
          const { status, body } = await app.send({ method, url: urlOf(`ip/${address}`) }, token)
          return [status, body.detail]
        }),
      )
      assert.equal(answers[0]?.[0], 403)
      assert.deepEqual(answers[0], answers[1])
    }
    assert.equal((await app.send({ method: 'GET', url: urlOf('ip/198.51.100.7') })).status, 200)
    assert.equal((await app.send({ method: 'DELETE', url: urlOf('user/zelda') }, token)).status, 204)
    assert.equal((await app.send({ method: 'DELETE', url: urlOf('ip/198.51.100.7') })).status, 204)
  })

  test('every edit needs a recent sign-in', async () => {
    app.running.clock.advance(11 * 60_000)
    const until = new Date(app.running.clock.now() + 60_000).toISOString()
    const edits: Request[] = [
      put(free, 30),
      { method: 'DELETE', url: free },
      { method: 'POST', url: `${path}/versions/1/activate`, payload: {} },
      { method: 'PUT', url: '/admin/v1/limit-overrides/user/u', payload: { factor: 2, until, reason: 'r' } },
      { method: 'DELETE', url: '/admin/v1/limit-overrides/user/u' },
    ]
    for (const edit of edits) assert.equal((await app.send(edit)).status, 401, `${edit.method} ${edit.url}`)
  })
})

describe('an edit of the file', () => {
  test('changes what it edits and leaves what was edited at run time', async (context) => {
    const app = await start()
    context.after(() => app.running.close())
    const { limits } = app.running.identity
    await app.send(put(free, 20))
    await limits.applyFile(fileWith(10, { pro: { rpm: 100 } }))
    const tiers = async () => (await app.send({ method: 'GET', url: path })).body.tiers
    assert.deepEqual(await tiers(), { free: { rpm: 20 }, pro: { rpm: 100 } })
    await limits.applyFile(fileWith(15, { pro: { rpm: 100 } }))
    assert.deepEqual(await tiers(), { free: { rpm: 15 }, pro: { rpm: 100 } }, 'the last edit wins')
    await limits.applyFile(fileWith(15))
    assert.deepEqual(await tiers(), { free: { rpm: 15 } })
    await limits.applyFile(fileWith(15))
    assert.equal((await app.send({ method: 'GET', url: path })).body.version, 5, 'the same file appends nothing')
  })

  test('that does not fit what was edited at run time applies whole', async (context) => {
    const app = await start()
    context.after(() => app.running.close())
    await app.send(put(`${path}/tiers/pro`, 100))
    const file = { ...fileWith(10), document: { tiers: { gold: { rpm: 5_000 } }, policies: {} } }
    await app.running.identity.limits.applyFile(file)
    const { body } = await app.send({ method: 'GET', url: path })
    assert.deepEqual([body.tiers, body.policies], [{ gold: { rpm: 5_000 } }, {}])
  })
})

describe('stored limits on PostgreSQL', () => {
  let server: Server | undefined
  let database: Database
  let app: Awaited<ReturnType<typeof start>>
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
    if (server === undefined) return
    database = await postgresDatabase(server, 20)
    app = await start(database)
  })
  after(async () => {
    await app?.running.close()
    await database?.close()
    await server?.stop()
  })

  testWith('postgresql', 'of two who change a tier as they both read it, one wins', async () => {
    const { etag = '' } = (await app.send({ method: 'GET', url: free })).headers
    const both = await Promise.all([20, 30].map((rpm) => app.send(put(free, rpm, etag))))
    assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 412])
    const loser = both.find(({ status }) => status === 412)
    assert.equal(loser?.body.etag, (await app.send({ method: 'GET', url: free })).headers.etag)
  })

  testWith('postgresql', 'those who change different tiers at once lose nothing', async () => {
    const names = ['a', 'b', 'c', 'd']
    const made = await Promise.all(names.map((name) => app.send(put(`${path}/tiers/${name}`, 5))))
    assert.deepEqual(new Set(made.map(({ status }) => status)), new Set([200]))
    const { body } = await app.send({ method: 'GET', url: path })
    for (const name of names) assert.deepEqual((body.tiers as Record<string, object>)[name], { rpm: 5 })
  })

  testWith('postgresql', 'of processes that apply one edit of the file at once, one appends a version', async () => {
    const before = (await app.send({ method: 'GET', url: path })).body.version as number
    const { limits } = app.running.identity
    await Promise.all([1, 2, 3].map(() => limits.applyFile(fileWith(77))))
    const { body } = await app.send({ method: 'GET', url: path })
    assert.deepEqual([body.version, body.origin], [before + 1, 'file'])
  })

  testWith('postgresql', 'each edit is in the audit trail once, with what was before and after', async () => {
    const made = await app.send(put(free, 42))
    const url = `/admin/v1/audit-events?request_id=${made.headers['x-request-id']}`
    const items = (await app.send({ method: 'GET', url })).body.items as object[]
    assert.equal(items.length, 1)
    const target = { type: 'limit', id: 'tiers/free' }
    assert.partialDeepStrictEqual(items, [
      { action: 'limit_settings.put', target, before: { rpm: 77 }, after: { rpm: 42 } },
    ])
  })
})
