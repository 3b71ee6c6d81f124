import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHttp, type Http, type ManagementChange, silentLog } from '@gatehouse/kit'
import { type Setup, setup } from '../support/setup.ts'

type Method = 'GET' | 'DELETE' | 'POST'

interface Case {
  readonly method: Method
  readonly path: string
  readonly body?: object
  /** Scopes of which each is enough. */
  readonly enough: readonly string[]
  /** What the audit trail is told, of those that change something. */
  readonly action?: string
}

const one = '/admin/v1/limits/:policy/:kind/:id'
const reading = (path: string): Case => ({ method: 'GET', path, enough: ['read:limits', 'admin:limits'] })
const cases: Readonly<Record<string, Case>> = {
  'GET /admin/v1/limits/top': reading('/admin/v1/limits/top'),
  'GET /admin/v1/limits/stats': reading('/admin/v1/limits/stats?by=tier'),
  'GET /admin/v1/limits/use': reading('/admin/v1/limits/use?policy=free'),
  'GET /admin/v1/limits/rejections': reading('/admin/v1/limits/rejections'),
  'GET /admin/v1/limits/store': reading('/admin/v1/limits/store'),
  'GET /admin/v1/limits/callers/:kind/:id': reading('/admin/v1/limits/callers/user/u1'),
  'GET /admin/v1/routes': reading('/admin/v1/routes'),
  'GET /admin/v1/routes/match': reading('/admin/v1/routes/match?method=GET&path=/open'),
  'GET /admin/v1/upstreams': reading('/admin/v1/upstreams'),
  'GET /admin/v1/limits': { method: 'GET', path: '/admin/v1/limits', enough: ['read:limits', 'admin:limits'] },
  [`GET ${one}`]: { method: 'GET', path: '/admin/v1/limits/free/user/u1', enough: ['read:limits', 'admin:limits'] },
  [`GET ${one}/explain`]: {
    method: 'GET',
    path: '/admin/v1/limits/free/user/u1/explain',
    enough: ['read:limits', 'admin:limits'],
  },
  [`DELETE ${one}`]: {
    method: 'DELETE',
    path: '/admin/v1/limits/free/user/u1',
    enough: ['admin:limits'],
    action: 'limits.reset',
  },
  'POST /admin/v1/limits/callers/:kind/:id/unblock': {
    method: 'POST',
    path: '/admin/v1/limits/callers/user/u1/unblock',
    enough: ['admin:limits'],
    action: 'limits.unblock',
  },
  [`POST ${one}/grant`]: {
    method: 'POST',
    path: '/admin/v1/limits/free/user/u1/grant',
    body: { amount: 2 },
    enough: ['write:limit-grants', 'admin:limits'],
    action: 'limits.grant',
  },
}

const allScopes = 'read:limits write:limit-grants admin:limits read:personal-data admin:privacy read:delivery'.split(
  ' ',
)

/** A gateway, every route of its own that asks who calls, and what its audit trail was told. */
async function operated() {
  const changes: ManagementChange[] = []
  const trail = { isAway: false }
  const made = await setup({
    tiers: { free: { rpm: 1_000, daily: 10_000 } },
    maxGrant: 5,
    async recordChange(change) {
      if (trail.isAway) throw new Error('the audit trail is away')
      changes.push(change)
    },
  })
  const ask = (scope: string, { method, path, body }: Pick<Case, 'method' | 'path' | 'body'>) =>
    made.http.inject({
      method,
      url: path,
      headers: made.bearer({
        ...{ sub: 'op', scope, roles: ['buyer', 'gatehouse-support'], client_id: 'console' },
        auth_time: made.clock.now() / 1_000,
      }),
      ...(body ? { payload: body } : {}),
    })
  return { ...made, changes, trail, ask }
}

/** The routes of the gateway's own, but for what is public. */
async function ownRoutes({ gateway }: Setup): Promise<string[]> {
  const found: string[] = []
  const http = createHttp({ log: silentLog })
  http.addHook('onRoute', ({ method, url, schema }) => {
    const open = Array.isArray(schema?.security) && schema.security.length === 0
    for (const each of [method].flat()) if (each !== 'HEAD' && !open) found.push(`${each} ${url}`)
  })
  await http.register((scope) => gateway.plugin(scope as Http))
  await http.ready()
  return found
}

test('every operator route of the gateway is in this table', async () => {
  assert.deepEqual((await ownRoutes(await operated())).sort(), Object.keys(cases).sort())
})

for (const [route, each] of Object.entries(cases))
  test(`${route} is allowed by ${each.enough.join(' or ')} and by nothing else`, async () => {
    const { ask, http } = await operated()
    for (const scope of allScopes) {
      const expected = each.enough.includes(scope) ? /^20/ : /^403$/
      assert.match(String((await ask(scope, each)).statusCode), expected, scope)
    }
    assert.equal((await http.inject({ method: each.method, url: each.path })).statusCode, 401)
  })

// What unblocking records is in callers/changes.test.ts: it changes nothing for a caller that nothing rejects.
const changing = Object.entries(cases).filter(([, { action }]) => action !== undefined && action !== 'limits.unblock')
for (const [route, each] of changing)
  test(`${route} records one audit event, and changes nothing when it cannot`, async () => {
    const { ask, changes, trail, bearer, http } = await operated()
    const remaining = async () =>
      (await ask('admin:limits', { method: 'GET', path: '/admin/v1/limits/free/user/u1' })).json().rules[0].remaining
    for (let n = 0; n < 4; n++) await http.inject({ url: '/open', headers: bearer() })
    const before = await remaining()
    trail.isAway = true
    const refused = await ask('admin:limits', each)
    assert.equal(refused.statusCode, 503)
    assert.match(refused.json().detail, /not made/)
    assert.equal(await remaining(), before)
    trail.isAway = false
    const answer = await ask('admin:limits', each)
    assert.equal(changes.length, 1)
    const { service, action, actor, target } = changes[0] ?? assert.fail()
    assert.deepEqual([service, action, target], ['gateway', each.action, { type: 'limit', id: 'free/user/u1' }])
    assert.deepEqual(actor, {
      subject: 'op',
      role: 'gatehouse-support',
      clientId: 'console',
      address: '127.0.0.1',
      requestId: answer.headers['x-request-id'],
    })
    assert.notEqual(await remaining(), before)
  })

test('a caller with write:limit-grants only grants up to the maximum in one call', async () => {
  const { ask, changes } = await operated()
  const grant = (scope: string, amount: number) =>
    ask(scope, { method: 'POST', path: '/admin/v1/limits/free/user/u1/grant', body: { amount } })
  assert.equal((await grant('write:limit-grants', 5)).statusCode, 200)
  const refused = await grant('write:limit-grants', 6)
  assert.equal(refused.statusCode, 403)
  assert.match(refused.json().detail, /At most 5 can be granted in one call without admin:limits/)
  assert.equal((await grant('admin:limits', 6)).statusCode, 200)
  assert.deepEqual(
    changes.map(({ after }) => after),
    [{ amount: 5 }, { amount: 6 }],
  )
})

const identifiers = [
  ['ip', '203.0.113.77', /203\.0\.113\.77/, '203.0.113.0/24'],
  ['ip', '2001:db8:1:77::1', /1:77/, '2001:db8:1::/48'],
  ['account-address', 'alice%40example.com|203.0.113.77', /alice|203\.0\.113\.77/, 'a•••@example.com|203.0.113.0/24'],
] as const
for (const [kind, id, personal, masked] of identifiers)
  test(`the limit of ${kind} ${id} is hidden from callers without read:personal-data`, async () => {
    const { ask, changes } = await operated()
    const path = `/admin/v1/limits/anonymous/${kind}/${encodeURIComponent(id)}`
    const guesses = [
      ['read:limits', 'GET', path],
      ['read:limits', 'GET', `${path}/explain`],
      ['read:limits', 'GET', `/admin/v1/limits/callers/${kind}/${encodeURIComponent(id)}`],
      ['read:limits', 'GET', `/admin/v1/limits/rejections?kind=${kind}&id=${encodeURIComponent(id)}`],
      ['read:limits', 'GET', `/admin/v1/limits/rejections?id=${encodeURIComponent(id)}`],
      ['write:limit-grants', 'POST', `${path}/grant`],
      ['admin:limits', 'DELETE', path],
      ['admin:limits', 'POST', `/admin/v1/limits/callers/${kind}/${encodeURIComponent(id)}/unblock`],
    ] as const
    for (const [scope, method, guess] of guesses) {
      const body = guess.endsWith('/grant') ? { body: { amount: 1 } } : {}
      const refused = await ask(scope, { method, path: guess, ...body })
      assert.equal(refused.statusCode, 403, guess)
      const challenge = 'Bearer error="insufficient_scope", scope="read:personal-data"'
      assert.equal(refused.headers['www-authenticate'], challenge)
      assert.doesNotMatch(refused.body, personal)
    }
    assert.equal(changes.length, 0)
    const explained = async (scope: string) =>
      (await ask(scope, { method: 'GET', path: `${path}/explain` })).json().identifier.id
    for (const scope of ['read:limits read:personal-data', 'read:limits admin:privacy'])
      assert.match(await explained(scope), personal)
    await ask('admin:limits read:personal-data', { method: 'DELETE', path })
    assert.equal(changes[0]?.target.id, `anonymous/${kind}/${masked}`)
  })

test('a declared rule applies to the operator routes as to any other own path', async () => {
  const { http, bearer } = await setup({ routes: [{ path: '/admin/v1/*', roles: ['staff'] }] })
  const ask = (roles: string[]) =>
    http.inject({ url: '/admin/v1/limits', headers: bearer({ scope: 'read:limits', roles }) })
  assert.equal((await ask(['buyer'])).statusCode, 403)
  assert.equal((await ask(['staff'])).statusCode, 200)
})

test('an account named by a telephone number is masked in the audit trail', async () => {
  const { ask, changes } = await operated()
  await ask('admin:limits', { method: 'DELETE', path: '/admin/v1/limits/anonymous/account/%2B447700900123' })
  assert.equal(changes[0]?.target.id, 'anonymous/account/+44•••123')
})
