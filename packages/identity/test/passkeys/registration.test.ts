import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tokenHash } from '@gatehouse/kit'
import { recentSignInMs } from '../../src/sessions/recent-sign-in.ts'
import { Authenticator, type Deviation } from '../support/factors/authenticator.ts'
import { creationOptions, passkeyIds, registerPasskey, signInByPasskey } from '../support/factors/passkeys.ts'
import { clients, hiddenFields, TestBrowser, users } from '../support/journey.ts'
import { setupOnce, type TestResponse } from '../support/setup.ts'

const running = setupOnce({ declared: { clients, users } })

async function signedIn(user: 'alice' | 'bob' = 'alice'): Promise<TestBrowser> {
  await running.database.query('DELETE FROM identity.passkey')
  const browser = new TestBrowser(running)
  const password = users.find(({ id }) => id === user)?.password
  await browser.signIn(await browser.get('/account'), user, password)
  return browser
}

const failure = (response: TestResponse) => /role="alert">([^<]+)</.exec(response.text)?.[1]
const wrong = 'The passkey could not be added. Please try again.'

test('a passkey is created discoverable, verified, unattested and under a random handle', async () => {
  const browser = await signedIn()
  const options = creationOptions(await browser.get('/account/passkeys/new')) as Record<string, object>
  const { challenge, user, excludeCredentials, ...rest } = options
  assert.deepEqual(rest, {
    rp: { name: 'Gatehouse', id: 'localhost' },
    pubKeyCredParams: [-8, -7, -257].map((alg) => ({ alg, type: 'public-key' })),
    timeout: 300_000,
    attestation: 'none',
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    extensions: { credProps: true },
    hints: [],
  })
  assert.match(String(challenge), /^[\w-]{43}$/)
  const { id, name, displayName } = user as Record<string, string>
  assert.deepEqual([name, displayName, excludeCredentials], ['alice@example.com', 'Alice Adams', []])
  assert.equal(Buffer.from(id ?? '', 'base64url').length, 32)
  const again = creationOptions(await browser.get('/account/passkeys/new')) as Record<string, object>
  assert.equal((again.user as Record<string, string>).id, id)
  assert.notEqual(again.challenge, challenge)
})

test('the passkeys of a user are excluded from the next registration', async () => {
  const browser = await signedIn()
  const authenticator = new Authenticator()
  await registerPasskey(browser, authenticator)
  const { excludeCredentials } = creationOptions(await browser.get('/account/passkeys/new')) as Record<string, object>
  assert.deepEqual(excludeCredentials, [
    { id: authenticator.id, transports: ['hybrid', 'internal'], type: 'public-key' },
  ])
})

test('a passkey has the name that its user enters, or that of the browser', async () => {
  const browser = await signedIn()
  const laptop = new Authenticator()
  await registerPasskey(browser, laptop, { name: '  Laptop <b>  ' })
  const firefox = new TestBrowser(running, { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Gecko Firefox/150.0' })
  await signInByPasskey(firefox, await firefox.get('/account'), laptop)
  await registerPasskey(firefox, new Authenticator(), { name: ' ' })
  const { text } = await browser.get('/account/passkeys')
  const names = [...text.matchAll(/<strong>([^<]*)<\/strong>/g)].map(([, name]) => name)
  assert.deepEqual(names, ['Laptop &lt;b&gt;', 'Firefox · Linux'])
})

test('transports outside the list are dropped', async () => {
  const browser = await signedIn()
  const transports = ['usb', 'telepathy', { toString: 'nfc' }, 'usb', 7, 'nfc']
  await registerPasskey(browser, new Authenticator(), { transports })
  const { rows } = await running.database.query('SELECT transports FROM identity.passkey')
  assert.deepEqual(rows, [{ transports: ['nfc', 'usb'] }])
})

const deviations: Readonly<Record<string, Deviation>> = {
  'no user verification': { isUserVerified: false },
  'no user presence': { isUserPresent: false },
  'another origin': { origin: 'https://evil.example' },
  'another relying party': { rpId: 'evil.example' },
  'a page embedded in another origin': { crossOrigin: true },
  'a top origin': { topOrigin: 'https://evil.example' },
  'the type of a sign-in': { type: 'webauthn.get' },
  'a challenge that nobody issued': { challenge: 'A'.repeat(43) },
  'a credential that is not discoverable': { credProps: { rk: false } },
}

for (const [name, deviation] of Object.entries(deviations)) {
  test(`a registration with ${name} is rejected`, async () => {
    const browser = await signedIn()
    const response = await registerPasskey(browser, new Authenticator(), deviation)
    assert.deepEqual([response.status, failure(response)], [400, wrong])
    assert.deepEqual(await passkeyIds(browser), [])
  })
}

test('a registration by an algorithm that was not offered is rejected', async () => {
  const browser = await signedIn()
  const response = await registerPasskey(browser, new Authenticator({ algorithm: 'es384' }))
  assert.deepEqual([response.status, failure(response)], [400, wrong])
})

test('a registration works once', async () => {
  const browser = await signedIn()
  const page = await browser.get('/account/passkeys/new')
  const credential = new Authenticator().create(creationOptions(page))
  const form = { ...hiddenFields(page), credential }
  assert.equal((await browser.post('/account/passkeys/new', form)).status, 303)
  assert.equal(failure(await browser.post('/account/passkeys/new', form)), wrong)
  assert.equal((await passkeyIds(browser)).length, 1)
})

test('a registration that began for another user of the browser is rejected', async () => {
  const browser = await signedIn()
  const options = creationOptions(await browser.get('/account/passkeys/new'))
  await browser.submit(await browser.get('/end_session'), { decision: 'leave' })
  await browser.signIn(await browser.get('/account'), 'bob', 'battery staple')
  const page = await browser.get('/account/passkeys/new')
  const credential = new Authenticator().create(options)
  assert.equal(failure(await browser.submit(page, { credential })), wrong)
})

test('a registration that began in another browser is rejected', async () => {
  const browser = await signedIn()
  const other = new TestBrowser(running)
  await other.signIn(await other.get('/account'))
  const credential = new Authenticator().create(creationOptions(await browser.get('/account/passkeys/new')))
  assert.equal(failure(await other.submit(await other.get('/account/passkeys/new'), { credential })), wrong)
})

test('a credential that belongs to somebody else cannot be registered again', async () => {
  const bob = await signedIn('bob')
  const authenticator = new Authenticator()
  await registerPasskey(bob, authenticator)
  const alice = new TestBrowser(running)
  await alice.signIn(await alice.get('/account'))
  const response = await registerPasskey(alice, authenticator, { credentialId: authenticator.id })
  assert.equal(failure(response), 'This device already has a passkey for your account.')
  assert.deepEqual(await passkeyIds(alice), [])
})

test('the 21st passkey is refused', async () => {
  const browser = await signedIn()
  for (let count = 0; count < 20; count++) {
    assert.equal((await registerPasskey(browser, new Authenticator())).status, 303)
  }
  assert.match((await browser.get('/account/passkeys')).text, /You have 20 passkeys/)
  const response = await registerPasskey(browser, new Authenticator())
  assert.equal(failure(response), 'You already have as many passkeys as an account can have.')
  assert.equal((await passkeyIds(browser)).length, 20)
})

test('a registration needs a recent sign-in, when it begins and when it ends', async () => {
  const browser = await signedIn()
  const page = await browser.get('/account/passkeys/new')
  const credential = new Authenticator().create(creationOptions(page))
  running.clock.advance(recentSignInMs + 1)
  const login = /action="\/login"/
  assert.match((await browser.get('/account/passkeys/new')).text, login)
  assert.match((await browser.submit(page, { credential })).text, login)
  assert.deepEqual(await passkeyIds(browser), [])
  const after = await browser.signIn(await browser.get('/account/passkeys/new'))
  assert.match(after.text, /Create passkey/)
})

test('a user without a password renews the sign-in by the passkey', async () => {
  const browser = await signedIn('bob')
  const authenticator = new Authenticator()
  await registerPasskey(browser, authenticator)
  await running.database.query("UPDATE identity.account SET password_hash = NULL WHERE id = 'bob'")
  running.clock.advance(recentSignInMs + 1)
  const login = await browser.get('/account/passkeys/new')
  assert.match((await browser.follow(await signInByPasskey(browser, login, authenticator))).text, /Create passkey/)
})

test('nobody registers a passkey without a session or without the token of the form', async () => {
  const browser = new TestBrowser(running)
  assert.match((await browser.get('/account/passkeys/new')).text, /action="\/login"/)
  assert.match((await browser.get('/account/passkeys')).text, /action="\/login"/)
  const alice = await signedIn()
  assert.equal((await alice.post('/account/passkeys/new', { credential: '{}' })).status, 403)
})

test('a passkey is audited when it is added, with its model and without its key', async () => {
  const browser = await signedIn()
  await registerPasskey(browser, new Authenticator({ synced: true }), { name: 'Phone' })
  const [id] = await passkeyIds(browser)
  const { rows } = await running.database.query(
    "SELECT actor, subject, details FROM identity.audit_event WHERE type = 'passkey_added' ORDER BY id DESC LIMIT 1",
  )
  const details = { passkey: id, name: 'Phone', aaguid: '00000000-0000-0000-0000-000000000000', synced: true }
  assert.deepEqual(rows, [{ actor: 'alice', subject: 'alice', details }])
})

test('a registration changes the cookie of the session that it raises, and keeps its sid', async () => {
  const browser = await signedIn()
  const sessions = async () =>
    (await running.database.query('SELECT id, secret_hash, amr FROM identity.session')).rows as {
      id: string
      secret_hash: string
      amr: string[]
    }[]
  const hashOf = (one: TestBrowser) => tokenHash(one.cookies.get('gatehouse_session') ?? '')
  const find = async (one: TestBrowser) => (await sessions()).find(({ secret_hash: hash }) => hash === hashOf(one))
  // Somebody else knows the cookie, because they planted it or saw it.
  const thief = new TestBrowser(running)
  for (const [name, value] of browser.cookies) thief.cookies.set(name, value)
  const before = await find(browser)
  await registerPasskey(browser, new Authenticator())
  const raised = await find(browser)
  assert.deepEqual([raised?.id, raised?.amr], [before?.id, ['pwd', 'hwk', 'user', 'mfa']])
  assert.match((await browser.get('/account')).text, /Your account/)
  assert.match((await thief.get('/account')).text, /action="\/login"/)
  const failed = browser.cookies.get('gatehouse_session')
  await registerPasskey(browser, new Authenticator(), { isUserVerified: false })
  assert.equal(browser.cookies.get('gatehouse_session'), failed, 'a rejected one changes nothing')
})
