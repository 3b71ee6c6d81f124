import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postgresIdentityStore } from '../../../src/postgres/index.ts'
import { clients, getTokens, TestBrowser, webSecret } from '../../support/journey.ts'
import {
  administrators,
  call,
  consoleClient,
  createFixtures,
  type Role,
  tokenOf,
} from '../../support/management/administrators.ts'
import { takeMails } from '../../support/notices.ts'
import { setupOnce } from '../../support/setup.ts'

const running = setupOnce({
  declared: { clients: [consoleClient, ...clients], users: administrators },
  notify: async () => {},
  background: false,
})
const password = 'a long and quiet password'

const as = async (role: Role, method: string, url: string) =>
  call(running, await tokenOf(running, role), { method, url })

const pathOf = ({ user, link }: { readonly user: string; readonly link: string }) =>
  `/admin/v1/users/${user}/providers/${link}`

test('linked providers are listed, and masked for a caller without personal data', async () => {
  const { user, link, connection } = await createFixtures(running).linkedProvider()
  const path = `/admin/v1/users/${user}/providers`
  const at = new Date(running.clock.now()).toISOString()
  const common = { id: link, connection, issuer: 'https://provider.example', linked_at: at, used_at: at }
  const items = async (role: Role) => (await as(role, 'GET', path)).body.items
  const personal = { subject: `subject of ${user}`, email: `${user}@there.example` }
  assert.deepEqual(await items('gatehouse-owner'), [{ ...common, ...personal }])
  const [masked] = (await items('gatehouse-auditor')) as Record<string, unknown>[]
  assert.equal(masked?.subject, '•••')
  assert.ok(!JSON.stringify(masked).includes(user))
  assert.equal((await as('gatehouse-owner', 'GET', '/admin/v1/users/nobody/providers')).status, 404)
})

test('a removal ends sessions, tokens, links and API keys, says what is left, and is mailed', async () => {
  const linked = await createFixtures(running).linkedProvider()
  const browser = new TestBrowser(running)
  const tokens = await getTokens(running, { browser, user: [linked.user, password] })
  await takeMails(running.database)
  const key = { owner: linked.user, name: 'of whoever had the account', scopes: [] }
  const { status, body } = await call(running, await tokenOf(running, 'gatehouse-owner'), {
    method: 'POST',
    url: '/admin/v1/api-keys',
    payload: key,
  })
  assert.equal(status, 201, JSON.stringify(body))
  const response = await as('gatehouse-operator', 'DELETE', pathOf(linked))
  assert.deepEqual([response.status, response.body], [200, { remaining_ways: 1 }])
  assert.match((await browser.get('/account')).text, /action="\/login"/)
  const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '', ...webSecret }
  assert.equal((await running.post('/token', form)).status, 400)
  assert.equal((await as('gatehouse-operator', 'DELETE', pathOf(linked))).status, 404)
  const notices = (await takeMails(running.database)).filter(({ event }) => event === 'provider_unlinked')
  assert.deepEqual(
    notices.map(({ email, data }) => [email, data.provider, data.address]),
    [
      [
        (await running.identity.management.listUsers('', 200)).find(({ id }) => id === linked.user)?.email,
        'Google',
        '',
      ],
    ],
  )
  const keys = await running.database.query('SELECT FROM identity.api_key WHERE owner = $1', [linked.user])
  assert.equal(keys.rowCount, 0)
  const { rows } = await running.database.query(
    `SELECT members_before FROM identity.audit_event WHERE action = 'linked_providers.remove' AND target_id = $1`,
    [linked.user],
  )
  assert.deepEqual(rows, [{ members_before: { link_id: linked.link, connection: linked.connection } }])
})

test('an administrator removes even the last way to sign in, of the user in the path only', async () => {
  const things = createFixtures(running)
  const linked = await things.linkedProvider()
  await running.database.query('UPDATE identity.account SET password_hash = NULL WHERE id = $1', [linked.user])
  assert.equal((await as('gatehouse-owner', 'DELETE', pathOf({ ...linked, user: await things.user() }))).status, 404)
  assert.equal((await as('gatehouse-owner', 'DELETE', pathOf({ ...linked, link: 'no-uuid' }))).status, 400)
  const responses = await Promise.all([1, 2].map(() => as('gatehouse-owner', 'DELETE', pathOf(linked))))
  assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 404])
  assert.deepEqual(responses.find(({ status }) => status === 200)?.body, { remaining_ways: 0 })
})

test('an administrator’s provider is removed only by another who has all of their scopes', async () => {
  const { store } = { store: postgresIdentityStore(running.database) }
  const { connection } = await createFixtures(running).linkedProvider()
  const { credentialVersion = '' } = (await store.users.find('owner')) ?? {}
  const link = { connectionId: connection, issuer: 'https://provider.example', subject: 'boss', email: undefined }
  await store.linkedAccounts.add({ userId: 'owner', credentialVersion }, link, [], running.clock.now())
  const [added] = await store.linkedAccounts.listByUser('owner')
  const path = pathOf({ user: 'owner', link: added?.id ?? '' })
  for (const role of ['gatehouse-operator', 'gatehouse-support', 'gatehouse-auditor', 'gatehouse-owner'] as const)
    assert.equal((await as(role, 'DELETE', path)).status, 403, role)
  assert.equal((await store.linkedAccounts.listByUser('owner')).length, 1)
})

test('a sign-in through the link that has not finished is void', async () => {
  const linked = await createFixtures(running).linkedProvider()
  const { users, sessions } = postgresIdentityStore(running.database)
  const before = await users.find(linked.user)
  assert.equal((await as('gatehouse-owner', 'DELETE', pathOf(linked))).status, 200)
  const now = running.clock.now()
  const session = {
    id: '00000000-0000-4000-8000-000000000001',
    userId: linked.user,
    authTime: now,
    amr: ['fed'],
    remembered: false,
    userAgent: '',
    address: '',
    createdAt: now,
    seenAt: now,
    expiresAt: now + 1_000,
  }
  assert.equal(await sessions.start(session, 'hash', before?.credentialVersion ?? ''), false)
})
