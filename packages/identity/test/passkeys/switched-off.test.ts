import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Features } from '../../src/index.ts'
import type { MfaPolicy } from '../../src/model/factors/second-factor.ts'
import { Authenticator } from '../support/factors/authenticator.ts'
import { asksForFactor, createPerson, enrol, isSignedIn, TestApp } from '../support/factors/factors.ts'
import { registerPasskey } from '../support/factors/passkeys.ts'
import { clients, hiddenFields, TestBrowser, users } from '../support/journey.ts'
import { type Running, setup } from '../support/setup.ts'

// One database, and servers with different settings at it: what an operator sees before and after a change.
const declared = { clients, users, connections: [] }
let on: Running
let off: Running
let offAndRequired: Running

before(async () => {
  on = await setup({ declared, mfa: 'optional' })
  off = await restarted({ passkeys: false }, 'optional')
  offAndRequired = await restarted({ passkeys: false }, 'required')
})
after(async () => {
  await offAndRequired.close()
  await off.close()
  await on.close()
})

function restarted(features: Partial<Features>, mfa: MfaPolicy): Promise<Running> {
  return setup({ declared, features, mfa }, on.database)
}

/** The same browser, after the server was restarted with other settings. */
function sameBrowser(browser: TestBrowser, at: Running): TestBrowser {
  const same = new TestBrowser(at)
  for (const [name, value] of browser.cookies) same.cookies.set(name, value)
  at.clock.set(on.clock.now())
  return same
}

/** A signed-in user with a passkey and a password. */
async function withPasskey() {
  const user = await createPerson(on)
  const browser = new TestBrowser(on)
  await browser.signIn(await browser.get('/account'), ...user)
  const authenticator = new Authenticator()
  await registerPasskey(browser, authenticator)
  return { user, browser, authenticator }
}

async function link(user: string): Promise<string> {
  await on.database.query(
    `INSERT INTO identity.connection (id, settings, created_at, updated_at) VALUES ('acme', '{"kind": "oidc"}', 0, 0)
     ON CONFLICT DO NOTHING`,
  )
  const { rows } = await on.database.query<{ id: string }>(
    `INSERT INTO identity.linked_account (id, connection_id, issuer, subject, user_id, linked_at, used_at)
     VALUES (gen_random_uuid(), 'acme', 'https://acme.example', $1, $1, 0, 0) RETURNING id`,
    [user],
  )
  return rows[0]?.id ?? assert.fail()
}

test('a passkey that is switched off is no other way to sign in beside the last provider', async () => {
  const { user, browser } = await withPasskey()
  const [id] = user
  const linkId = await link(id)
  await on.database.query('UPDATE identity.account SET password_hash = NULL WHERE id = $1', [id])
  const disconnect = async (at: TestBrowser) => {
    const { form_token = '' } = hiddenFields(await at.get('/account/providers'))
    return at.post('/account/providers', { form_token, link_id: linkId })
  }
  assert.equal((await disconnect(sameBrowser(browser, off))).status, 409)
  assert.equal((await disconnect(browser)).status, 303)
})

test('a provider that is disabled is no other way to sign in beside the last passkey', async () => {
  const { user, browser } = await withPasskey()
  await link(user[0])
  const page = await browser.get('/account/passkeys')
  const edit = /passkeys\/edit\?id=([0-9a-f-]{36})/.exec(page.text)?.[1] ?? ''
  await on.database.query('UPDATE identity.account SET password_hash = NULL WHERE id = $1', [user[0]])
  await on.database.query(`UPDATE identity.connection SET settings = '{"kind": "oidc", "enabled": false}'`)
  const form = hiddenFields(await browser.get(`/account/passkeys/edit?id=${edit}`))
  const remove = () => browser.post('/account/passkeys/edit', { ...form, id: edit, decision: 'remove' })
  assert.equal((await remove()).status, 409)
  await on.database.query(`UPDATE identity.connection SET settings = '{"kind": "oidc"}'`)
  assert.equal((await remove()).status, 303)
})

test('where passkeys are off and a factor is required, who has only a passkey enrols an app', async () => {
  const { user } = await withPasskey()
  const browser = new TestBrowser(offAndRequired)
  const page = await browser.signIn(await browser.get('/account'), ...user)
  assert.ok(!asksForFactor(page))
  assert.match(page.text, /action="\/login\/enrol"/)
  assert.doesNotMatch(page.text, /passkey/i)
  assert.ok(!(await isSignedIn(browser)))
  const app = new TestApp(offAndRequired, page)
  await browser.submit(page, { code: app.code() })
  assert.ok(await isSignedIn(browser))
  const factors = await browser.get('/account/factors')
  const refused = await browser.post('/account/factors', { ...hiddenFields(factors), action: 'remove_app' })
  assert.match(refused.text, /must keep a second step/, 'the passkey is no other factor')
})

test('a session by a passkey outlives passkeys, and lets its user set up an app', async () => {
  const { browser } = await withPasskey()
  const same = sameBrowser(browser, offAndRequired)
  assert.ok(await isSignedIn(same))
  assert.match((await same.get('/account/factors/app')).text, /class="secret"/)
  assert.doesNotMatch((await same.get('/account')).text, /passkey/i)
})

test('where passkeys are switched off no page of theirs is there, and none leads to one', async () => {
  const user = await createPerson(off)
  off.clock.set(on.clock.now())
  const { browser } = await enrol(off, user)
  const { form_token = '' } = hiddenFields(await browser.get('/account/factors'))
  for (const path of [
    '/login/passkey',
    '/login/passkey/options',
    '/account/passkeys/new',
    '/account/passkeys/password',
  ])
    assert.equal((await browser.post(path, { form_token, credential: '{}' })).status, 404, path)
  const other = new TestBrowser(off)
  const factor = await other.signIn(await other.get('/account'), ...user)
  assert.ok(asksForFactor(factor))
  for (const page of [factor, await browser.get('/account/factors'), await new TestBrowser(off).get('/account')])
    assert.doesNotMatch(page.text, /passkey|webauthn/i)
})
