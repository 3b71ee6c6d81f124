import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, type TestContext, test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import { memoryDatabase, postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { decodeJwt } from 'jose'
import type { IdentityOptions } from '../../src/index.ts'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'
import {
  authorizeUrl,
  clients,
  getTokens,
  pkce,
  redirectParameters,
  TestBrowser,
  users,
  webSecret,
} from '../support/journey.ts'
import { type Running, setup } from '../support/setup.ts'

/** Identity with a client whose logout URI this test serves. */
async function setupListener(
  t: TestContext,
  options: Partial<IdentityOptions> = {},
  handle = (_request: IncomingMessage, response: ServerResponse): void => {
    response.end()
  },
) {
  const received: string[] = []
  const waiting: (() => void)[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { sub, sid } = decodeJwt(new URLSearchParams(body).get('logout_token') ?? '')
    received.push(`${sub} ${sid}`)
    for (const done of waiting.splice(0)) done()
    handle(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const backchannel_logout_uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/logout`
  const [web, ...rest] = clients
  const declared = { clients: [{ ...web, client_id: 'web', backchannel_logout_uri }, ...rest], users }
  const running = await setup({ declared, features: { loopbackCalls: true }, ...options })
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await running.close()
  })
  return {
    running,
    received,
    async receivedFor(one: string) {
      while (!received.includes(one)) await new Promise<void>((done) => waiting.push(done))
    },
  }
}

const sidOf = (tokens: Record<string, string>) => String(decodeJwt(tokens.id_token ?? '').sid)

const again = () =>
  authorizeUrl({ client_id: 'spa', response_type: 'code', scope: 'openid', prompt: 'login', ...challenge() })
const challenge = () => ({ code_challenge: pkce().code_challenge, code_challenge_method: 'S256' })

test('a repeated sign-in keeps the session, and its end is reported to every client used in it', async (t) => {
  const { running, receivedFor } = await setupListener(t)
  const browser = new TestBrowser(running)
  const first = await getTokens(running, { browser, scope: 'openid' })
  const cookie = browser.cookies.get('gatehouse_session')
  running.clock.advance(1_000)
  const consent = await browser.signIn(await browser.get(again()))
  assert.match(consent.text, /action="\/consent"/)
  assert.notEqual(browser.cookies.get('gatehouse_session'), cookie, 'with a new cookie')
  const second = await getTokens(running, { browser, scope: 'openid' })
  assert.equal(sidOf(second), sidOf(first))
  assert.ok(Number(decodeJwt(second.id_token ?? '').auth_time) > Number(decodeJwt(first.id_token ?? '').auth_time))
  await browser.get(`/end_session?id_token_hint=${first.id_token}`)
  await receivedFor(`alice ${sidOf(first)}`)
})

test('the end of a session is reported when another user signs in', async (t) => {
  const { running, receivedFor } = await setupListener(t)
  const browser = new TestBrowser(running)
  const tokens = await getTokens(running, { browser, scope: 'openid' })
  await browser.signIn(await browser.get(again()), 'bob', 'battery staple')
  await receivedFor(`alice ${sidOf(tokens)}`)
})

for (const [what, act] of [
  ['the user is locked', ({ management }) => management.updateUser('alice', { locked: true })],
  ['a password is set', ({ management }) => management.setPassword('alice', 'another password')],
  ['the user is deleted', ({ management }) => management.deleteUser('alice')],
] as const satisfies readonly (readonly [string, (identity: Running['identity']) => Promise<unknown>])[]) {
  test(`the end of a session is reported to its clients when ${what}`, async (t) => {
    const { running, receivedFor } = await setupListener(t)
    const tokens = await getTokens(running, { scope: 'openid' })
    await act(running.identity)
    await receivedFor(`alice ${sidOf(tokens)}`)
  })
}

test('the end of a session is reported to a client however long ago it was used', async (t) => {
  const { running, receivedFor } = await setupListener(t)
  const browser = new TestBrowser(running)
  const tokens = await getTokens(running, { browser, scope: 'openid' })
  running.clock.advance(3 * 86_400_000)
  await postgresIdentityStore(running.database).purge.purge(running.clock.now(), 0, 500)
  await browser.get(`/end_session?id_token_hint=${tokens.id_token}`)
  await receivedFor(`alice ${sidOf(tokens)}`)
})

test('a logout URI that hangs delays no mail', async (t) => {
  const mailed = Promise.withResolvers<void>()
  let hanging = true
  const { running, receivedFor } = await setupListener(t, { notify: async () => mailed.resolve() }, (request) => {
    request.socket.once('close', () => {
      hanging = false
    })
  })
  const tokens = await getTokens(running, { scope: 'openid' })
  await running.identity.management.updateUser('alice', { locked: true })
  await receivedFor(`alice ${sidOf(tokens)}`)
  const browser = new TestBrowser(running)
  await browser.submit(await browser.get('/password/forgot'), { email: 'bob@example.com' })
  await mailed.promise
  assert.equal(hanging, true)
})

let shared: Running
before(async () => {
  shared = await setup({ declared: { clients, users } })
})
after(() => shared.close())

test('a logout form of another site is repeated as a navigation with cookies', async () => {
  const browser = new TestBrowser(shared)
  const tokens = await getTokens(shared, { browser, scope: 'openid' })
  const fields = {
    id_token_hint: tokens.id_token ?? '',
    post_logout_redirect_uri: 'https://app.example/bye',
    state: 's',
  }
  const foreign = await new TestBrowser(shared).post('/end_session', fields, { origin: 'https://app.example' })
  assert.equal(foreign.status, 303)
  assert.match(foreign.headers.location ?? '', /^\/end_session\?/)
  const left = await browser.get(foreign.headers.location ?? '')
  assert.equal(left.headers.location, 'https://app.example/bye?state=s')
  const silent = authorizeUrl({
    client_id: 'web',
    response_type: 'code',
    scope: 'openid',
    prompt: 'none',
    ...challenge(),
  })
  assert.equal(redirectParameters(await browser.get(silent)).error, 'login_required')
})

test('a session is extended by use, but not beyond 90 days after its login', async () => {
  const browser = new TestBrowser(shared)
  await browser.signIn(await browser.get('/account'))
  const isIn = async () => !(await browser.get('/account')).text.includes('action="/login"')
  for (let day = 10; day < 90; day += 10) {
    shared.clock.advance(10 * 86_400_000)
    assert.equal(await isIn(), true, `day ${day}`)
  }
  shared.clock.advance(10 * 86_400_000)
  assert.equal(await isIn(), false)
})

test('only a password change in the configuration ends sessions and grants', async () => {
  const database = await memoryDatabase(migrateIdentity)
  const clock = manualClock()
  const start = (alice: object) =>
    setup({ declared: { clients, users: [{ id: 'alice', password: 'correct horse', ...alice }] }, clock }, database)
  const first = await start({})
  const browser = new TestBrowser(first)
  const tokens = await getTokens(first, { browser })
  await first.close()
  const refresh = (running: Running, refresh_token = '') =>
    running.post('/token', { grant_type: 'refresh_token', refresh_token, ...webSecret })
  const renamed = await start({ plan: 'pro' })
  const refreshed = await refresh(renamed, tokens.refresh_token)
  assert.equal(refreshed.status, 200)
  await renamed.close()
  const changed = await start({ plan: 'pro', password: 'battery staple' })
  assert.equal((await refresh(changed, String(refreshed.body.refresh_token))).body.error, 'invalid_grant')
  const same = new TestBrowser(changed)
  for (const [name, value] of browser.cookies) same.cookies.set(name, value)
  const login = await same.get('/account')
  assert.match(login.text, /action="\/login"/)
  assert.doesNotMatch((await same.signIn(login, 'alice', 'battery staple')).text, /action="\/login"/)
  await changed.close()
  await database.close()
})

let server: Server | undefined
before(async () => {
  server = await sharedPostgres().catch(() => undefined)
})
after(() => server?.stop())

for (const how of ['by its user', 'by an administrator', 'at the provider of the session'] as const)
  test(`a session that ends ${how} takes the grants of the built-in client with it`, async () => {
    const running = await setup({ declared: { clients, users }, builtInClients: ['web'] })
    const browser = new TestBrowser(running)
    const own = await getTokens(running, { browser, scope: 'openid offline_access' })
    const other = await getTokens(running, { browser, client: 'spa', scope: 'openid offline_access' })
    const elsewhere = await getTokens(running, { scope: 'openid offline_access' })
    if (how === 'by its user') await browser.get(`/end_session?id_token_hint=${own.id_token}`)
    else if (how === 'by an administrator') await running.identity.management.endSession('alice', sidOf(own))
    else await endAtProvider(running, sidOf(own))
    assert.equal((await refresh(running, own)).error, 'invalid_grant')
    assert.ok((await refresh(running, elsewhere)).access_token, 'a grant of another session stays')
    const { rows } = await running.database.query<{ client_id: string }>(
      `SELECT g.client_id FROM identity.revocation r JOIN identity.grant_record g ON g.id = r.grant_id`,
    )
    assert.deepEqual(rows, [{ client_id: 'web' }])
    assert.ok(
      other.refresh_token && (await refresh(running, other, 'spa')).access_token,
      'so does that of another client',
    )
    await running.close()
  })

async function refresh(running: Running, tokens: Record<string, string>, client: 'web' | 'spa' = 'web') {
  const credentials = client === 'web' ? webSecret : { client_id: 'spa' }
  const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '', ...credentials }
  return (await running.post('/token', form)).body
}

/** Ends a session as a back-channel logout of its provider does. */
async function endAtProvider({ database, clock }: Running, sessionId: string): Promise<void> {
  await database.query(
    "INSERT INTO identity.connection (id, settings, created_at, updated_at) VALUES ('acme', '{}', 1, 1)",
  )
  const link = '019a205c-cc20-7a27-aaca-4b0e3f272051'
  await database.query(
    `INSERT INTO identity.linked_account (id, connection_id, issuer, subject, user_id, linked_at, used_at)
     VALUES ($1, 'acme', 'https://acme.example', 'u-1', 'alice', 1, 1)`,
    [link],
  )
  await database.query(
    `INSERT INTO identity.provider_session (id, session_id, link_id, sid, signed_in_at) VALUES ($1, $2, $1, 's-1', 1)`,
    [link, sessionId],
  )
  const logout = { connectionId: 'acme', issuer: 'https://acme.example', subject: 'u-1', sid: 's-1', tokenHash: 'hash' }
  const now = clock.now()
  const end = { now, expiresAt: now + 3_600_000, createLogoutMessages: () => [], endsGrantsOf: ['web'] }
  const ended = await postgresIdentityStore(database).providerSessions.end({ ...logout, expiresAt: now + 1_000 }, end)
  assert.deepEqual(ended, [{ id: sessionId, userId: 'alice' }])
}

testWith(
  'postgresql',
  'a sign-in of the built-in client concurrent with the end of its session gets no grant',
  async () => {
    const database = await postgresDatabase(server as Server, 8)
    const running = await setup({ declared: { clients, users }, builtInClients: ['web'] }, database)
    for (let round = 0; round < 10; round++) {
      const browser = new TestBrowser(running)
      const tokens = await getTokens(running, { browser, scope: 'openid' })
      const silent = () =>
        authorizeUrl({ client_id: 'web', response_type: 'code', scope: 'openid', prompt: 'none', ...challenge() })
      const requests = Array.from({ length: 4 }, () => browser.get(silent()))
      await Promise.all([...requests, running.identity.management.endSession('alice', sidOf(tokens))])
      const { rowCount } = await database.query('SELECT 1 FROM identity.grant_record WHERE revoked_at IS NULL')
      assert.equal(rowCount, 0)
    }
    await running.close()
    await database.close()
  },
)

testWith('postgresql', 'an authorization concurrent with a password change does not outlive it', async () => {
  const database = await postgresDatabase(server as Server, 8)
  const running = await setup({ declared: { clients, users } }, database)
  for (let round = 0; round < 10; round++) {
    const browser = new TestBrowser(running)
    await getTokens(running, { browser, scope: 'openid' })
    const silent = () =>
      authorizeUrl({ client_id: 'web', response_type: 'code', scope: 'openid', prompt: 'none', ...challenge() })
    const hash = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`
    const { accounts } = postgresIdentityStore(database)
    const end = {
      now: running.clock.now(),
      expiresAt: running.clock.now() + 3_600_000,
      createLogoutMessages: () => [],
      endsGrantsOf: [],
    }
    const requests = Array.from({ length: 6 }, () => browser.get(silent()))
    await Promise.all([...requests, accounts.setPassword({ userId: 'alice', hash, endApiKeys: true }, end)])
    const { rowCount } = await database.query('SELECT 1 FROM identity.grant_record WHERE revoked_at IS NULL')
    assert.equal(rowCount, 0)
    await running.identity.management.setPassword('alice', 'correct horse')
  }
  await running.close()
  await database.close()
})
