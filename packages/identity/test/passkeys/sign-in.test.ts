import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { Authenticator, type Deviation } from '../support/factors/authenticator.ts'
import { registerPasskey, requestOptions, sendCredential, signInByPasskey } from '../support/factors/passkeys.ts'
import {
  authorizeUrl,
  clients,
  getCode,
  pkce,
  redirectParameters,
  TestBrowser,
  users,
  webSecret,
} from '../support/journey.ts'
import { type Running, setupOnce, type TestResponse } from '../support/setup.ts'

const running = setupOnce({ declared: { clients, users } })

/** Alice with one passkey, and another browser at the login page. */
async function prepare(authenticator: Authenticator = new Authenticator()) {
  await running.database.query('DELETE FROM identity.passkey')
  const owner = new TestBrowser(running)
  await owner.signIn(await owner.get('/account'))
  const added = await registerPasskey(owner, authenticator)
  assert.equal(added.headers.location, '/account/passkeys', added.text)
  const browser = new TestBrowser(running)
  return { authenticator, owner, browser, page: await browser.get('/account') }
}

const failure = (response: TestResponse) => /role="alert">([^<]+)</.exec(response.text)?.[1]
const wrong = 'This passkey could not be used. Try again, or sign in another way.'

async function auditEvents({ database }: Pick<Running, 'database'>, type: string): Promise<Record<string, unknown>[]> {
  const text = 'SELECT subject, details FROM identity.audit_event WHERE type = $1 ORDER BY id'
  return (await database.query<Record<string, unknown>>(text, [type])).rows
}

for (const algorithm of ['es256', 'eddsa', 'rs256'] as const) {
  test(`a passkey with a key for ${algorithm} signs its user in`, async () => {
    const { authenticator, browser, page } = await prepare(new Authenticator({ algorithm }))
    const account = await browser.follow(await signInByPasskey(browser, page, authenticator))
    assert.match(account.text, /alice@example\.com/)
  })
}

for (const [synced, amr, acr] of [
  [false, ['hwk', 'user', 'mfa'], 'phrh'],
  [true, ['swk', 'user', 'mfa'], 'phr'],
] as const) {
  test(`a ${synced ? 'synced' : 'device-bound'} passkey leads to acr ${acr}`, async () => {
    const { authenticator, browser } = await prepare(new Authenticator({ synced }))
    const { code_verifier, code_challenge } = pkce()
    const request = { client_id: 'web', response_type: 'code', scope: 'openid', prompt: 'consent', code_challenge }
    const page = await browser.get(authorizeUrl({ ...request, code_challenge_method: 'S256' }))
    const consent = await browser.follow(await signInByPasskey(browser, page, authenticator))
    const { code = '' } = redirectParameters(await browser.submit(consent, { decision: 'allow' }))
    const form = { grant_type: 'authorization_code', code, code_verifier, ...webSecret }
    const claims = decodeJwt(String((await running.post('/token', form)).body.id_token))
    assert.deepEqual([claims.sub, claims.amr, claims.acr], ['alice', amr, acr])
  })
}

const deviations: Readonly<Record<string, Deviation>> = {
  'a bogus signature': { signature: Buffer.alloc(70, 7) },
  'no user verification': { isUserVerified: false },
  'no user presence': { isUserPresent: false },
  'another origin': { origin: 'https://evil.example' },
  'the origin on another port': { origin: 'http://localhost:8081' },
  'another relying party': { rpId: 'evil.example' },
  'a page embedded in another origin': { crossOrigin: true },
  'a top origin': { topOrigin: 'https://evil.example' },
  'the type of a registration': { type: 'webauthn.create' },
  'a challenge that nobody issued': { challenge: 'A'.repeat(43) },
  'no user handle': { userHandle: undefined },
  'the user handle of somebody else': { userHandle: Buffer.alloc(32, 1).toString('base64url') },
  'a key that became able to sync': { backupEligible: true },
}

for (const [name, deviation] of Object.entries(deviations)) {
  test(`a response with ${name} gets the same answer as any other that fails`, async () => {
    const { authenticator, browser, page } = await prepare()
    const response = await signInByPasskey(browser, page, authenticator, deviation)
    assert.deepEqual([response.status, failure(response)], [401, wrong])
    assert.match((await browser.get('/account')).text, /action="\/login"/)
  })
}

test('an unknown credential and one of a locked user get the same answer', async () => {
  const { authenticator, browser, page } = await prepare()
  const stranger = new Authenticator()
  stranger.create({ challenge: '', user: { id: 'x' }, rp: { id: 'localhost' } })
  const unknown = await signInByPasskey(browser, page, stranger)
  await running.database.query("UPDATE identity.account SET locked_at = 1 WHERE id = 'alice'")
  const locked = await signInByPasskey(browser, page, authenticator)
  await running.database.query("UPDATE identity.account SET locked_at = NULL WHERE id = 'alice'")
  for (const response of [unknown, locked]) assert.deepEqual([response.status, failure(response)], [401, wrong])
})

for (const text of [
  '',
  'null',
  '{}',
  '[]',
  '{"id":"x"}',
  '{"id":"x","response":{"clientDataJSON":"e30"}}',
  'A'.repeat(40_000),
]) {
  test(`a credential that is ${text.slice(0, 45) || 'empty'} is rejected`, async () => {
    const browser = new TestBrowser(running)
    const page = await browser.get('/account')
    const response = await sendCredential(browser, page, text)
    assert.deepEqual([response.status, failure(response)], [401, wrong])
  })
}

test('a response works once, even with a synced key whose counter stays 0', async () => {
  const { authenticator, browser, page } = await prepare(new Authenticator({ synced: true }))
  const credential = authenticator.get(await requestOptions(browser, page))
  const answers = await Promise.all([1, 2, 3].map(() => sendCredential(browser, page, credential)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 401, 401])
  const again = new TestBrowser(running)
  assert.equal((await sendCredential(again, await again.get('/account'), credential)).status, 401)
})

test('a rejected response uses up its challenge', async () => {
  const { authenticator, browser, page } = await prepare()
  const options = await requestOptions(browser, page)
  assert.equal((await sendCredential(browser, page, authenticator.get(options, { isUserVerified: false }))).status, 401)
  assert.equal((await sendCredential(browser, page, authenticator.get(options))).status, 401)
})

test('a challenge of another browser is not accepted, and stays usable in its own', async () => {
  const { authenticator, browser, page } = await prepare()
  const options = await requestOptions(browser, page)
  const other = new TestBrowser(running)
  const credential = authenticator.get(options)
  assert.equal((await sendCredential(other, await other.get('/account'), credential)).status, 401)
  assert.equal((await sendCredential(browser, page, credential)).status, 303)
})

test('a challenge for a registration is none for a sign-in', async () => {
  const { authenticator, owner } = await prepare()
  const page = await owner.get('/account/passkeys/new')
  const challenge = /&quot;challenge&quot;:&quot;([\w-]{43})/.exec(page.text)?.[1] ?? assert.fail(page.text)
  await owner.submit(await owner.get('/end_session'), { decision: 'leave' })
  const login = await owner.get('/account')
  const credential = authenticator.get({ challenge, rpId: 'localhost' })
  assert.deepEqual(failure(await sendCredential(owner, login, credential)), wrong)
})

test('an expired challenge is not accepted', async () => {
  const { authenticator, browser, page } = await prepare()
  const options = await requestOptions(browser, page)
  running.clock.advance(30 * 60_000)
  const fresh = await browser.get('/account')
  assert.equal((await sendCredential(browser, fresh, authenticator.get(options))).status, 401)
})

test('a counter that goes back on a device-bound key is refused and shown, and locks nobody', async () => {
  const { authenticator, browser, page } = await prepare()
  assert.equal((await signInByPasskey(browser, page, authenticator, { counter: 9 })).status, 303)
  const copy = new TestBrowser(running)
  for (const counter of [9, 8, 0]) {
    const refused = await signInByPasskey(copy, await copy.get('/account'), authenticator, { counter })
    assert.deepEqual([refused.status, failure(refused)], [401, wrong])
  }
  const events = await auditEvents(running, 'passkey_counter_regressed')
  assert.deepEqual(
    events.map(({ subject, details }) => [subject, (details as { counter: number }).counter]),
    [
      ['alice', 9],
      ['alice', 8],
      ['alice', 0],
    ],
  )
  assert.match((await browser.get('/account/passkeys')).text, /looked like a copy/)
  const next = await signInByPasskey(copy, await copy.get('/account'), authenticator, { counter: 10 })
  assert.equal(next.status, 303)
})

test('a synced key with counter 0 signs in again and again', async () => {
  const { authenticator } = await prepare(new Authenticator({ synced: true }))
  for (let time = 0; time < 3; time++) {
    const browser = new TestBrowser(running)
    assert.equal((await signInByPasskey(browser, await browser.get('/account'), authenticator)).status, 303)
  }
})

test('a failed sign-in is audited with its reason, which the page does not show', async () => {
  const { authenticator, browser, page } = await prepare()
  await signInByPasskey(browser, page, authenticator, { isUserVerified: false })
  const events = await auditEvents(running, 'login_failed')
  assert.deepEqual(events.at(-1), { subject: 'alice', details: { passkey: 'verification' } })
})

test('a user without a password signs in by passkey, and by nothing else', async () => {
  const { authenticator, browser, page } = await prepare()
  const { rows } = await running.database.query<{ password_hash: string }>(
    "SELECT password_hash FROM identity.account WHERE id = 'alice'",
  )
  await running.database.query("UPDATE identity.account SET password_hash = NULL WHERE id = 'alice'")
  const guess = await browser.submit(page, { username: 'alice', password: '' })
  assert.equal(guess.status, 401)
  assert.equal((await signInByPasskey(browser, page, authenticator)).status, 303)
  await running.database.query("UPDATE identity.account SET password_hash = $1 WHERE id = 'alice'", [
    rows[0]?.password_hash,
  ])
})

test('the form of the options needs its token', async () => {
  const browser = new TestBrowser(running)
  await browser.get('/account')
  assert.equal((await browser.post('/login/passkey/options', { form_token: 'x' })).status, 403)
  assert.equal((await running.post('/login/passkey/options', {})).status, 403)
})

test('a passkey signs in the user it belongs to, whoever was signed in before', async () => {
  const { authenticator } = await prepare()
  const { browser } = await getCode(running, { user: ['bob', 'battery staple'] })
  running.clock.advance(6 * 60_000)
  const page = await browser.get('/account/passkeys/new')
  const after = await browser.follow(await signInByPasskey(browser, page, authenticator))
  assert.match((await browser.get('/account')).text, /alice@example\.com/)
  assert.equal(after.status, 200)
})
