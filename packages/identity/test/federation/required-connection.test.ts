import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { Authenticator } from '../support/factors/authenticator.ts'
import { asksForFactor, enrol, isSignedIn, TestApp } from '../support/factors/factors.ts'
import { editPasskey, passkeyIds, registerPasskey } from '../support/factors/passkeys.ts'
import { hiddenFields, TestBrowser } from '../support/journey.ts'
import { administrators, call, consoleClient, tokenOf } from '../support/management/administrators.ts'
import {
  callbackOf,
  connectionTo,
  proveDomain,
  setupWith,
  signInWithOrganization,
  upstreamClient,
} from '../support/providers.ts'
import type { Running, TestResponse } from '../support/setup.ts'

const password = 'a long and quiet password'
const domain = 'acme.example'
const people = ['ann', 'bea', 'cleo', 'dora', 'eve', 'fay']

let provider: OidcFake
let running: Running
before(async () => {
  provider = await startOidc({ client: upstreamClient, redirectUris: [callbackOf('acme')] })
  const connections = [
    connectionTo(provider, { organization: 'acme', required: true }),
    connectionTo(provider, { id: 'plain', name: 'Plain' }),
  ]
  const users = people.map((id) => ({ id, password, email: `${id}@${domain}`, email_verified: true }))
  running = await setupWith(connections, {
    features: { loopbackCalls: true, passkeys: true },
    mfa: 'optional',
    declared: {
      clients: [consoleClient],
      users: [...users, ...administrators],
      organizations: [{ id: 'acme' }, { id: 'beta', require_mfa: true, members: [{ user_id: 'fay', roles: [] }] }],
    },
  })
  await proveDomain(running, 'acme', domain)
})
after(async () => {
  await running.close()
  await provider.stop()
})
beforeEach(() => running.identity.management.updateConnection('acme', { required: true }))

/** A browser in which a user signed in with the required provider, which linked the account. */
async function signIn(id: string): Promise<TestBrowser> {
  const email = `${id}@${domain}`
  provider.user = { sub: id, email, email_verified: true }
  const browser = new TestBrowser(running)
  assert.match((await signInWithOrganization(browser, email)).text, new RegExp(email))
  return browser
}

/** Links an account at the provider that is not required. */
async function linkPlain(userId: string): Promise<void> {
  const { users, linkedAccounts } = postgresIdentityStore(running.database)
  const { credentialVersion = '' } = (await users.find(userId)) ?? {}
  const link = { connectionId: 'plain', issuer: provider.url, subject: `plain-${userId}`, email: undefined }
  assert.equal(await linkedAccounts.add({ userId, credentialVersion }, link, [], running.clock.now()), 'linked')
}

async function linkOf(userId: string, connection: string): Promise<string> {
  const links = await postgresIdentityStore(running.database).linkedAccounts.listByUser(userId)
  return links.find(({ connectionId }) => connectionId === connection)?.id ?? assert.fail(connection)
}

async function disconnect(browser: TestBrowser, link_id: string): Promise<TestResponse> {
  const { form_token = '' } = hiddenFields(await browser.get('/account/providers'))
  return browser.post('/account/providers', { form_token, link_id })
}

test('the only link of the required connection stays, although there is a password', async () => {
  await linkPlain('ann')
  const browser = await signIn('ann')
  const link = await linkOf('ann', 'acme')
  const refused = await disconnect(browser, link)
  assert.equal(refused.status, 409)
  assert.match(refused.text, /your only way to sign in/)
  assert.equal((await disconnect(browser, await linkOf('ann', 'plain'))).status, 303, 'a refused way may go')
  await running.identity.management.updateConnection('acme', { required: false })
  assert.equal((await disconnect(browser, link)).status, 303)
})

test('an administrator’s removal of the link of the required connection leaves no way', async () => {
  await signIn('bea')
  const url = `/admin/v1/users/bea/providers/${await linkOf('bea', 'acme')}`
  const { body } = await call(running, await tokenOf(running, 'gatehouse-owner'), { method: 'DELETE', url })
  assert.deepEqual(body, { remaining_ways: 0 })
})

/** Removes the password of the user who is signed in. */
async function removePassword(browser: TestBrowser): Promise<TestResponse> {
  const { form_token = '' } = hiddenFields(await browser.get('/account/providers'))
  return browser.post('/account/passkeys/password', { form_token })
}

test('a password goes while the required connection signs in', async () => {
  assert.equal((await removePassword(await signIn('cleo'))).status, 200)
})

test('a password and a passkey stay where the other ways are refused by the required connection', async () => {
  await running.identity.management.updateConnection('acme', { required: false })
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'), 'dora', password)
  await registerPasskey(browser, new Authenticator())
  const [passkey = ''] = await passkeyIds(browser)
  await linkPlain('dora')
  await running.identity.management.updateConnection('acme', { required: true })
  assert.equal((await removePassword(browser)).status, 409)
  await editPasskey(browser, passkey, { decision: 'remove' })
  assert.deepEqual(await passkeyIds(browser), [passkey])
  await running.identity.management.updateConnection('acme', { required: false })
  await editPasskey(browser, passkey, { decision: 'remove' })
  assert.deepEqual(await passkeyIds(browser), [])
})

test('a password that waits for its factor when another way becomes required signs nobody in', async () => {
  await running.identity.management.updateConnection('acme', { required: false })
  const { app, codes } = await enrol(running, ['eve', password])
  const [eve, fay] = [new TestBrowser(running), new TestBrowser(running)]
  const factor = await eve.signIn(await eve.get('/account'), 'eve', password)
  assert.ok(asksForFactor(factor))
  const enrolment = await fay.signIn(await fay.get('/account'), 'fay', password)
  assert.match(enrolment.text, /action="\/login\/enrol"/)
  await running.identity.management.updateConnection('acme', { required: true })
  for (const [browser, page, code] of [
    [eve, factor, { code: app.nextCode() }],
    [eve, factor, { recovery_code: codes[0] ?? '' }],
    [fay, enrolment, { code: new TestApp(running, enrolment).code() }],
  ] as const) {
    const response = await browser.submit(page, code)
    assert.equal(response.status, 400, response.text)
    assert.equal(await isSignedIn(browser), false)
  }
  const { management } = running.identity
  const found = [await management.readFactors('eve'), await management.readFactors('fay')]
  assert.deepEqual(
    found.map(({ factors, recovery_codes }) => [factors.length, recovery_codes]),
    [
      [1, 10],
      [0, 0],
    ],
  )
})
