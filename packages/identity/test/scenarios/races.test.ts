import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { type Access, covers } from '../../src/model/grants/consent.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { callback, clients, getCode, getTokens, TestBrowser, users, webSecret } from '../support/journey.ts'
import { type Running, service, setup, type TestResponse } from '../support/setup.ts'

const consoleSecret = { client_id: 'console', client_secret: 'console-secret-0123456789' }
const adminConsole = {
  ...consoleSecret,
  redirect_uris: [callback],
  scopes: ['openid', 'offline_access', 'read:users', 'admin:users'],
}
const declared = { clients: [...clients, service, adminConsole], users }
const twenty = Array.from({ length: 20 })

describe('on PostgreSQL', () => {
  let server: Server | undefined
  let database: Database
  let running: Running
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
    if (server === undefined) return
    database = await postgresDatabase(server, 20)
    running = await setup({ declared }, database)
  })
  after(async () => {
    await running?.close()
    await database?.close()
    await server?.stop()
  })

  const refresh = (refresh_token: string, at: Running = running, secret = webSecret) =>
    at.post('/token', { grant_type: 'refresh_token', refresh_token, ...secret })
  /** Resolves once `count` or more statements of the database wait for a lock. */
  const waiting = async (count: number): Promise<void> => {
    const text = `SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
    while (((await database.query<{ n: number }>(text)).rows[0]?.n ?? 0) < count) await nextTurn()
  }
  const succeeded = (responses: readonly TestResponse[]) => responses.filter(({ status }) => status === 200)

  testWith('postgresql', 'of 20 concurrent exchanges of a code, exactly one succeeds', async () => {
    for (let round = 0; round < 5; round++) {
      const { code, code_verifier } = await getCode(running)
      const exchange = { grant_type: 'authorization_code', code, code_verifier, ...webSecret }
      const responses = await Promise.all(twenty.map(() => running.post('/token', exchange)))
      assert.equal(succeeded(responses).length, 1)
      assert.ok(responses.every(({ status, body }) => status === 200 || body.error === 'invalid_grant'))
    }
  })

  testWith('postgresql', 'of 20 concurrent refreshes of a token, one lineage survives', async () => {
    for (let round = 0; round < 5; round++) {
      const { refresh_token = '' } = await getTokens(running)
      const responses = await Promise.all(twenty.map(() => refresh(refresh_token)))
      assert.equal(succeeded(responses).length, 20, 'a repeat within the grace period is not a reuse')
      const successors = new Set(responses.map(({ body }) => body.refresh_token))
      assert.equal(successors.size, 1)
      assert.equal((await refresh(String([...successors][0]))).status, 200)
    }
  })

  testWith('postgresql', 'concurrent refreshes without a grace period end the family', async () => {
    const strict = await setup({ declared, lifetimes: { refreshGrace: 0 } }, database)
    const { refresh_token = '' } = await getTokens(strict)
    const responses = await Promise.all(twenty.map(() => refresh(refresh_token, strict)))
    const won = succeeded(responses)
    assert.equal(won.length, 1)
    assert.equal((await refresh(String(won[0]?.body.refresh_token), strict)).body.error, 'invalid_grant')
    await strict.close()
  })

  testWith('postgresql', 'reuse is detected across a restart', async () => {
    const { refresh_token = '' } = await getTokens(running)
    const current = String((await refresh(refresh_token)).body.refresh_token)
    const newest = String((await refresh(current)).body.refresh_token)
    const restarted = await setup({ declared }, database)
    assert.equal((await refresh(refresh_token, restarted)).body.error, 'invalid_grant')
    assert.equal((await refresh(newest, restarted)).body.error, 'invalid_grant')
    await restarted.close()
  })

  testWith('postgresql', 'a concurrent refresh and revocation never leave a live family', async () => {
    for (let round = 0; round < 5; round++) {
      const { refresh_token = '' } = await getTokens(running)
      const [response] = await Promise.all([
        refresh(refresh_token),
        running.post('/revoke', { token: refresh_token, ...webSecret }),
      ])
      const last = String(response.body.refresh_token ?? refresh_token)
      assert.equal((await refresh(last)).body.error, 'invalid_grant')
    }
  })

  testWith(
    'postgresql',
    'a repeat within the grace period waits for a concurrent revocation and is rejected',
    async () => {
      const { refresh_token = '' } = await getTokens(running)
      const successor = String((await refresh(refresh_token)).body.refresh_token)
      const [locked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const locking = database.transaction(async (tx) => {
        await tx.query('LOCK TABLE identity.revocation')
        locked.resolve()
        await released.promise
      })
      await locked.promise
      const revoking = running.post('/revoke', { token: successor, ...webSecret })
      await waiting(1)
      const repeating = refresh(refresh_token)
      await Promise.race([waiting(2), repeating])
      released.resolve()
      await locking
      assert.equal((await revoking).status, 200)
      assert.equal((await repeating).body.error, 'invalid_grant')
    },
  )

  testWith('postgresql', 'refreshes in one batch succeed or fail independently', async () => {
    const families = await Promise.all(twenty.map(() => getTokens(running)))
    const tokens = families.map(({ refresh_token = '' }) => refresh_token)
    const [older = '', revoked = '', ...good] = tokens
    for (let current = older, turn = 0; turn < 2; turn++) current = String((await refresh(current)).body.refresh_token)
    await running.post('/revoke', { token: revoked, ...webSecret })
    const [wide, foreign, reused, ended, ...responses] = await Promise.all([
      running.post('/token', {
        grant_type: 'refresh_token',
        refresh_token: good[0] ?? '',
        scope: 'x:y',
        ...webSecret,
      }),
      running.post('/token', { grant_type: 'refresh_token', refresh_token: good[1] ?? '', client_id: 'spa' }),
      ...[older, revoked, ...good].map((token) => refresh(token)),
    ])
    const errors = [wide, foreign, reused, ended].map((response) => response?.body.error)
    assert.deepEqual(errors, ['invalid_scope', 'invalid_grant', 'invalid_grant', 'invalid_grant'])
    assert.equal(succeeded(responses).length, good.length)
  })

  testWith(
    'postgresql',
    'two processes that refresh the same families concurrently keep one lineage each',
    async () => {
      const families = await Promise.all(twenty.map(() => getTokens(running)))
      const other = await setup({ declared }, database)
      const tokens = families.map(({ refresh_token = '' }) => refresh_token)
      const [mine, theirs] = await Promise.all([
        Promise.all(tokens.map((token) => refresh(token))),
        Promise.all(tokens.toReversed().map((token) => refresh(token, other))),
      ])
      const successors = (responses: TestResponse[]) => responses.map(({ body }) => body.refresh_token)
      assert.ok(successors(mine).every((token) => typeof token === 'string'))
      assert.deepEqual(successors(mine), successors(theirs.toReversed()))
      await other.close()
    },
  )

  testWith('postgresql', 'of 20 concurrent polls of an approved device, one gets tokens', async () => {
    const { body } = await running.post('/device_authorization', { client_id: 'tv', scope: 'openid offline_access' })
    const browser = new TestBrowser(running)
    const page = await browser.signIn(await browser.get('/device'))
    const confirm = await browser.submit(page, { user_code: String(body.user_code) })
    await browser.submit(confirm, { decision: 'allow' })
    const poll = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: String(body.device_code) }
    const responses = await Promise.all(twenty.map(() => running.post('/token', { ...poll, client_id: 'tv' })))
    assert.equal(succeeded(responses).length, 1)
  })

  testWith('postgresql', 'of 20 concurrent uses of a pushed request, one gets a code', async () => {
    const { browser } = await getCode(running, { scope: 'read:users' })
    for (let round = 0; round < 5; round++) {
      const code_challenge = createHash('sha256').update(randomBytes(32)).digest('base64url')
      const { body } = await running.post('/par', { ...webSecret, scope: 'read:users', code_challenge })
      const url = `/authorize?${new URLSearchParams({ client_id: 'web', request_uri: String(body.request_uri) })}`
      const responses = await Promise.all(twenty.map(() => browser.get(url)))
      const codes = responses.filter(({ headers }) => headers.location?.includes('code='))
      assert.equal(codes.length, 1)
      assert.ok(responses.every((response) => response === codes[0] || response.status === 400))
    }
  })

  testWith('postgresql', 'concurrent consents keep every page covered and store only the widest', async () => {
    const { consents, sessions } = postgresIdentityStore(database)
    const browser = new TestBrowser(running)
    await browser.signIn(await browser.get('/device'))
    const sessionId = (await sessions.listByUser('alice', 0))[0]?.id ?? assert.fail('alice has no session')
    const add = (page: Access, grantedAt: number) =>
      consents.add('alice', sessionId, { clientId: 'spa', ...page, grantedAt })
    for (let round = 0; round < 5; round++) {
      const pages = twenty.map((_, n) => ({
        scopes: Array.from({ length: (n % 10) + 1 }, (_, k) => `read:${round}-${k}`),
        resources: n < 10 ? ['https://photos.example'] : ['https://films.example'],
        claims: [],
      }))
      await Promise.all(pages.map((page) => add(page, round)))
      const kept = await consents.find('alice', 'spa')
      assert.ok(pages.every((page) => kept.some((one) => covers(one, page))))
      await add(pages[9] ?? assert.fail(), round)
      const named = (await consents.find('alice', 'spa')).filter(({ scopes }) => scopes.includes(`read:${round}-0`))
      const photos = named.filter(({ resources }) => resources.includes('https://photos.example'))
      assert.deepEqual(
        photos.map(({ scopes }) => scopes.length),
        [10],
      )
    }
  })

  testWith('postgresql', 'a refresh after a role was removed omits its scopes, in other processes too', async (t) => {
    const other = await setup({ declared }, database)
    t.after(() => other.close())
    await other.identity.management.createUser({ id: 'keeper', roles: ['gatehouse-owner'] })
    const setRoles = (roles: string[]) => other.identity.management.updateUser('alice', { roles })
    for (let round = 0; round < 5; round++) {
      await setRoles(['gatehouse-owner'])
      const scope = 'openid offline_access read:users admin:users'
      let { refresh_token = '' } = await getTokens(running, { client: 'console', secret: consoleSecret, scope })
      const refreshes = twenty.map(() => refresh(refresh_token, running, consoleSecret))
      await Promise.all([...refreshes, setRoles([])])
      refresh_token = String((await refreshes[0])?.body.refresh_token)
      const after = await Promise.all(twenty.map(() => refresh(refresh_token, running, consoleSecret)))
      for (const { body } of after) assert.equal(body.scope, 'openid offline_access read:users')
    }
  })

  testWith('postgresql', 'processes that start together create one key per algorithm', async () => {
    const fresh = await postgresDatabase(server as Server, 20)
    const several = await Promise.all([1, 2, 3].map(() => setup({ declared }, fresh)))
    const { rows } = await fresh.query('SELECT alg FROM identity.signing_key')
    assert.equal(rows.length, 2)
    await Promise.all(several.map((one) => one.close()))
    await fresh.close()
  })

  testWith('postgresql', 'a reader of the revocation feed misses nothing while 20 writers append', async () => {
    const start = (await running.identity.revocations(undefined)).next
    const tokens = await Promise.all(twenty.map(() => getTokens(running)))
    const seen = new Set<string>()
    let cursor = start
    const read = async () => {
      const page = await running.identity.revocations(cursor)
      for (const one of page.revocations) if ('grant' in one) seen.add(one.grant)
      cursor = page.next
    }
    const writing = Promise.all(
      tokens.map(({ refresh_token = '' }) => running.post('/revoke', { token: refresh_token, ...webSecret })),
    )
    for (let turn = 0; turn < 30; turn++) await read()
    await writing
    await read()
    assert.equal(seen.size, 20)
  })
})
