import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import { domainOf } from '../../src/connections/home.ts'
import { hiddenFields, TestBrowser } from '../support/journey.ts'
import { consoleClient } from '../support/management/administrators.ts'
import {
  assertRefused,
  callbackOf,
  choose,
  connectionTo,
  followProvider,
  proveDomain,
  requireSecondFactor,
  sentTo,
  setupWith,
  signInAt,
  signInWithOrganization,
  upstreamClient,
  usersByEmail,
} from '../support/providers.ts'
import type { Running, TestResponse } from '../support/setup.ts'

const password = 'a long and quiet password'
const person = (id: string, domain: string, email_verified = true) => ({
  id,
  password,
  email: `${id}@${domain}`,
  email_verified,
})

let provider: OidcFake
let other: OidcFake
let running: Running
before(async () => {
  const redirectUris = ['acme', 'beta', 'plain', 'named'].map(callbackOf)
  provider = await startOidc({ client: upstreamClient, redirectUris })
  other = await startOidc({ client: upstreamClient, redirectUris })
  const hidden = { hidden: true, create_users: true }
  running = await setupWith(
    [
      connectionTo(provider, { ...hidden, organization: 'acme', add_members: true, member_roles: ['viewer'] }),
      connectionTo(other, { ...hidden, id: 'beta', name: 'Beta', organization: 'beta', required: true }),
      connectionTo(other, { id: 'plain', name: 'Plain' }),
      connectionTo(other, { ...hidden, id: 'named', name: 'Named', domains: ['named.example'] }),
    ],
    {
      notify: async () => {},
      declared: {
        clients: [consoleClient],
        users: [
          person('ann', 'acme.example'),
          person('una', 'acme.example', false),
          person('bea', 'beta.example'),
          person('sam', 'people.example'),
          { ...person('boss', 'acme.example'), roles: ['gatehouse-owner'] },
        ],
        organizationRoles: [{ key: 'viewer', permissions: [] }],
        organizations: [{ id: 'acme' }, { id: 'beta' }, { id: 'gamma' }],
      },
    },
  )
  await proveDomain(running, 'acme', 'acme.example')
  await proveDomain(running, 'acme', 'xn--bcher-kva.example')
  await proveDomain(running, 'beta', 'beta.example')
})
after(async () => {
  await running.close()
  await provider.stop()
  await other.stop()
})
beforeEach(() => {
  for (const one of [provider, other]) one.misbehaviour = undefined
})

const login = async (username: string, secret = password): Promise<TestResponse> => {
  const browser = new TestBrowser(running)
  return browser.post('/login', { ...hiddenFields(await browser.get('/account')), username, password: secret })
}

const membersOf = async (organization: string) => {
  const { rows } = await running.database.query<{ user_id: string; roles: string[] }>(
    `SELECT m.user_id, array(SELECT r.role_key FROM identity.membership_role r
       WHERE r.organization_id = m.organization_id AND r.user_id = m.user_id) AS roles
     FROM identity.membership m WHERE m.organization_id = $1 ORDER BY m.user_id`,
    [organization],
  )
  return rows
}

test('an entered address leads to the provider of its domain, with or without an account', async () => {
  for (const address of ['ann@acme.example', 'nobody@acme.example', 'ANN@ACME.EXAMPLE', 'x@bücher.example']) {
    const browser = new TestBrowser(running)
    const page = await browser.get('/account')
    assert.match(page.text, /formaction="\/login\/organization"/)
    assert.doesNotMatch(page.text, /Continue with (Acme|Beta)/)
    const response = await browser.post('/login/organization', { ...hiddenFields(page), username: address })
    const url = sentTo(response)
    assert.equal(url.origin, provider.url, address)
    assert.equal(url.searchParams.get('login_hint'), address.toLowerCase())
  }
  const named = new TestBrowser(running)
  const fields = hiddenFields(await named.get('/account'))
  const response = await named.post('/login/organization', { ...fields, username: 'x@named.example' })
  assert.equal(sentTo(response).origin, other.url)
})

test('the sign-in form leads there without a password, or where the provider is required', async () => {
  assert.equal(sentTo(await login('ann@acme.example', '')).origin, provider.url)
  assert.equal((await login('ann@acme.example')).status, 303)
  assert.equal((await login('sam@people.example', '')).status, 401)
  for (const address of ['bea@beta.example', 'nobody@beta.example'])
    for (const secret of [password, 'wrong', '']) assert.equal(sentTo(await login(address, secret)).origin, other.url)
})

test('an address without an organization gets the same page for every account', async () => {
  const answers: string[] = []
  for (const username of ['sam@people.example', 'nobody@people.example', 'sam', '', 'a@sub.acme.example', '@', 'x@']) {
    const browser = new TestBrowser(running)
    const form = { ...hiddenFields(await browser.get('/account')), username }
    const response = await browser.post('/login/organization', form)
    assert.equal(response.status, 404, username)
    answers.push(response.text.replaceAll(/value="[^"]*"/g, '').replaceAll(' autofocus', ''))
  }
  assert.equal(new Set(answers).size, 1)
  const browser = new TestBrowser(running)
  const { form_token: _token, ...form } = hiddenFields(await browser.get('/account'))
  assert.equal((await browser.post('/login/organization', { ...form, username: 'a@acme.example' })).status, 403)
})

test('the connection of an organization signs in addresses of its own domains only', async () => {
  for (const [sub, claims] of [
    ['other-domain', { email: 'eve@people.example', email_verified: true }],
    ['domain-of-beta', { email: 'eve@beta.example', email_verified: true }],
    ['subdomain', { email: 'eve@sub.acme.example', email_verified: true }],
    ['suffix', { email: 'eve@notacme.example', email_verified: true }],
    ['two', { email: 'eve@acme.example@people.example', email_verified: true }],
    ['unverified', { email: 'eve@acme.example' }],
    ['text', { email: 'eve@acme.example', email_verified: 'true' }],
    ['none', {}],
  ] as const) {
    provider.user = { sub, ...claims }
    const browser = new TestBrowser(running)
    await assertRefused(browser, await signInWithOrganization(browser, 'x@acme.example'), sub)
  }
  assert.deepEqual(await usersByEmail(running, 'eve@people.example'), [])
})

test('a verified account of the domain is linked; an unverified or an administrator’s is not', async () => {
  for (const [user, status] of [
    ['ann', 200],
    ['una', 409],
    ['boss', 409],
  ] as const) {
    provider.user = { sub: `there-${user}`, email: `${user}@acme.example`, email_verified: true }
    const page = await signInWithOrganization(new TestBrowser(running), `${user}@acme.example`)
    assert.equal(page.status, status, user)
  }
})

test('a linked user whose address leaves the domain is out of reach of the connection', async () => {
  provider.user = { sub: 'leaver', email: 'leaver@acme.example', email_verified: true }
  const first = await signInWithOrganization(new TestBrowser(running), 'leaver@acme.example')
  assert.match(first.text, /leaver@acme\.example/)
  const [user] = await usersByEmail(running, 'leaver@acme.example')
  const { updateUser } = running.identity.management
  const id = user?.id ?? assert.fail()
  await updateUser(id, { email: 'leaver@people.example', email_verified: true })
  const browser = new TestBrowser(running)
  await assertRefused(browser, await signInWithOrganization(browser, 'leaver@acme.example'))
  await updateUser(id, { email: 'leaver@acme.example', email_verified: false })
  await assertRefused(browser, await signInWithOrganization(browser, 'leaver@acme.example'), 'unverified')
})

test('a connection signs in nobody while its organization has lost the domain or is suspended', async () => {
  provider.user = { sub: 'ann-there', email: 'late@acme.example', email_verified: true }
  const withdraw = (sql: string, ...values: string[]) => running.database.query(sql, values)
  for (const [off, on] of [
    [
      "UPDATE identity.organization_domain SET verified_at = NULL WHERE domain = 'acme.example'",
      "UPDATE identity.organization_domain SET verified_at = 1 WHERE domain = 'acme.example'",
    ],
    [
      "UPDATE identity.organization SET status = 'suspended' WHERE id = 'acme'",
      "UPDATE identity.organization SET status = 'active' WHERE id = 'acme'",
    ],
  ] as const) {
    const browser = new TestBrowser(running)
    const form = { ...hiddenFields(await browser.get('/account')), username: 'late@acme.example' }
    const path = await followProvider(sentTo(await browser.post('/login/organization', form)))
    await withdraw(off)
    await assertRefused(browser, await browser.get(path), off)
    const again = { ...hiddenFields(await browser.get('/account')), username: 'late@acme.example' }
    assert.equal((await browser.post('/login/organization', again)).status, 404)
    await withdraw(on)
  }
})

test('a user of another domain does not connect the provider of an organization', async () => {
  provider.user = { sub: 'sam-there', email: 'sam@acme.example', email_verified: true }
  await running.identity.management.updateConnection('acme', { hidden: false })
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'), 'sam', password)
  const path = await followProvider(await choose(browser, await browser.get('/account/providers')))
  assert.equal((await browser.get(path)).status, 400)
  await running.identity.management.updateConnection('acme', { hidden: true })
  const { rows } = await running.database.query("SELECT 1 FROM identity.linked_account WHERE subject = 'sam-there'")
  assert.equal(rows.length, 0)
})

test('where its provider is required a user has no other way to sign in', async () => {
  const byName = await login('bea')
  const wrong = await login('bea', 'wrong')
  assert.equal(byName.status, 401, 'the username, with the right password')
  assert.match(byName.text, /name or password is incorrect/)
  assert.equal(byName.status, wrong.status)
  other.user = { sub: 'elsewhere', email: 'new@beta.example', email_verified: true }
  const browser = new TestBrowser(running)
  await assertRefused(browser, await signInAt(running, browser, 'plain'))
  assert.deepEqual(await usersByEmail(running, 'new@beta.example'), [], 'another provider creates no account')
  const page = await signInWithOrganization(new TestBrowser(running), 'new@beta.example')
  assert.match(page.text, /new@beta\.example/)
})

test('a user whose provider is required does not change the address', async () => {
  other.user = { sub: 'bea-there', email: 'bea@beta.example', email_verified: true }
  const browser = new TestBrowser(running)
  await signInWithOrganization(browser, 'bea@beta.example')
  const page = await browser.get('/account/email')
  assert.equal(page.status, 403)
  assert.match(page.text, /Your organization manages this address/)
})

test('a disabled connection requires nothing', async () => {
  const { updateConnection } = running.identity.management
  await updateConnection('beta', { enabled: false })
  assert.equal((await login('bea@beta.example')).status, 303)
  await updateConnection('beta', { enabled: true })
  assert.equal((await login('bea')).status, 401)
})

test('who signs in becomes a member with the roles of the connection, in its organization only', async () => {
  provider.user = { sub: 'joiner', email: 'joiner@acme.example', email_verified: true }
  await signInWithOrganization(new TestBrowser(running), 'joiner@acme.example')
  const [user] = await usersByEmail(running, 'joiner@acme.example')
  const members = (await membersOf('acme')).filter(({ user_id }) => user_id === user?.id)
  assert.deepEqual(members, [{ user_id: user?.id, roles: ['viewer'] }])
  assert.deepEqual(await membersOf('beta'), [], 'without add_members nobody joins')
  const { rows } = await running.database.query(
    "SELECT details FROM identity.audit_event WHERE type = 'organization_joined' AND subject = $1",
    [user?.id],
  )
  assert.deepEqual(rows, [{ details: { organization: 'acme', connection: 'acme', roles: ['viewer'] } }])
})

test('what a connection names that its organization lacks does not stop a sign-in', async () => {
  const { updateConnection } = running.identity.management
  await updateConnection('acme', { member_roles: ['unknown'] })
  provider.user = { sub: 'roleless', email: 'roleless@acme.example', email_verified: true }
  const page = await signInWithOrganization(new TestBrowser(running), 'roleless@acme.example')
  assert.match(page.text, /roleless@acme\.example/)
  const [user] = await usersByEmail(running, 'roleless@acme.example')
  assert.ok(!(await membersOf('acme')).some(({ user_id }) => user_id === user?.id))
  await updateConnection('acme', { member_roles: ['viewer'] })
})

test('the second factor of the organization counts at the very sign-in that joins it', async () => {
  await requireSecondFactor(running, 'acme')
  provider.user = { sub: 'strict', email: 'strict@acme.example', email_verified: true }
  const browser = new TestBrowser(running)
  const page = await signInWithOrganization(browser, 'strict@acme.example')
  assert.match(page.text, /action="\/login\/enrol"/)
  assert.match((await browser.get('/account')).text, /action="\/login"/)
  await running.database.query("UPDATE identity.organization SET require_mfa = false WHERE id = 'acme'")
})

test('an organization has one connection, and it exists', async () => {
  const { createConnection, updateConnection } = running.identity.management
  const another = connectionTo(provider, { id: 'another', organization: 'acme' })
  await assert.rejects(createConnection(another), { status: 409 })
  await assert.rejects(createConnection({ ...another, organization: 'nowhere' }), { status: 409 })
  await createConnection({ ...another, organization: 'gamma' })
  await assert.rejects(updateConnection('another', { organization: 'beta' }), { status: 409 })
  for (const members of [
    { domains: ['acme.example'] },
    { link_only: true },
    { member_roles: ['owner'] },
    { kind: 'github' as const },
  ])
    await assert.rejects(createConnection({ ...another, id: 'faulty', ...members }), { status: 422 })
  const { organization: _none, ...free } = another
  for (const members of [{ add_members: true }, { member_roles: ['viewer'] }, { required: true }])
    await assert.rejects(createConnection({ ...free, id: 'faulty', ...members }), { status: 422 })
  await running.database.query("DELETE FROM identity.organization WHERE id = 'gamma'")
  const ids = (await running.identity.management.listConnections()).map(({ id }) => id)
  assert.ok(!ids.includes('another'), 'the connection goes with its organization')
})

test('a domain is compared in lower case and ASCII, and no text without an address has one', () => {
  for (const [address, domain] of [
    ['a@Acme.Example', 'acme.example'],
    ['a@bücher.example', 'xn--bcher-kva.example'],
    ['acme.example', undefined],
    ['a@b@acme.example', undefined],
    ['a@acme.example\u0000', undefined],
    ['', undefined],
  ] as const)
    assert.equal(domainOf(address), domain, address)
})
