import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import { multiFactorAcr } from '../../src/model/authentication.ts'
import { asksForFactor, TestApp } from '../support/factors/factors.ts'
import { authorizeUrl, hiddenFields, pkce, TestBrowser } from '../support/journey.ts'
import {
  callbackOf,
  choose,
  connectionTo,
  followProvider,
  sentTo,
  setupWith,
  signInAt,
  upstreamClient,
} from '../support/providers.ts'
import type { Running } from '../support/setup.ts'

let provider: OidcFake
let running: Running
before(async () => {
  provider = await startOidc({ client: upstreamClient, redirectUris: [callbackOf('acme')] })
  running = await setupWith([connectionTo(provider)], { mfa: 'optional' })
  provider.user = { sub: 'u-1', email: 'carol@example.com', email_verified: true }
  provider.signedInAgo = 3_600
})
after(async () => {
  await running.close()
  await provider.stop()
})

const requested = (url: URL) => [url.searchParams.get('prompt'), url.searchParams.get('max_age')]

/** A browser whose sign-in is too old for changes, and the way to the provider that a change leads to. */
async function signInAgain(): Promise<{ browser: TestBrowser; address: URL }> {
  running.clock.set(Date.now() - 20 * 60_000)
  const browser = new TestBrowser(running)
  await signInAt(running, browser)
  running.clock.set(Date.now())
  const page = await browser.post('/account/providers', {
    ...hiddenFields(await browser.get('/account/providers')),
    connection: 'acme',
  })
  assert.match(page.text, /action="\/login"/)
  return { browser, address: await choose(browser, page) }
}

const mayChange = async (browser: TestBrowser) => {
  const form = { ...hiddenFields(await browser.get('/account/providers')), connection: 'acme' }
  const { link_id: _link, ...rest } = form as Record<string, string>
  return !(await browser.post('/account/providers', rest)).text.includes('action="/login"')
}

test('a first sign-in may be silent at the provider', async () => {
  const browser = new TestBrowser(running)
  assert.deepEqual(requested(await choose(browser, await browser.get('/account'))), [null, '31536000'])
})

test('a sign-in before a change of credentials is a new one at the provider', async () => {
  const { browser, address } = await signInAgain()
  assert.deepEqual(requested(address), ['login', '0'])
  await browser.follow(await browser.get(await followProvider(address)))
  assert.ok(await mayChange(browser))
})

test('whoever removes the question from the address gets no recent sign-in', async () => {
  for (const change of [
    (url: URL) => {
      url.searchParams.delete('prompt')
      url.searchParams.delete('max_age')
    },
    (url: URL) => {
      url.searchParams.delete('prompt')
      url.searchParams.set('max_age', '86400')
    },
    (url: URL) => url.searchParams.delete('max_age'),
  ]) {
    const { browser, address } = await signInAgain()
    change(address)
    assert.equal((await browser.get(await followProvider(address))).status, 400, String(change))
    assert.equal(await mayChange(browser), false)
  }
})

test('a provider that does not say when its user signed in is not believed', async () => {
  const { browser, address } = await signInAgain()
  provider.misbehaviour = 'no_auth_time'
  assert.equal((await browser.get(await followProvider(address))).status, 400)
  provider.misbehaviour = undefined
  assert.equal(await mayChange(browser), false)
})

test('signing out and in again silently is no recent sign-in, and a new one at the provider is', async () => {
  for (const misbehaviour of [undefined, 'no_auth_time'] as const) {
    const browser = new TestBrowser(running)
    await signInAt(running, browser)
    await browser.submit(await browser.get('/end_session'), { decision: 'leave' })
    assert.match((await browser.get('/account')).text, /action="\/login"/)
    provider.misbehaviour = misbehaviour
    assert.match((await signInAt(running, browser)).text, /carol@example.com/)
    provider.misbehaviour = undefined
    assert.equal(await mayChange(browser), false, String(misbehaviour))
    const form = { ...hiddenFields(await browser.get('/account/providers')), connection: 'acme' }
    const address = await choose(browser, await browser.post('/account/providers', form))
    assert.deepEqual(requested(address), ['login', '0'])
    await browser.follow(await browser.get(await followProvider(address)))
    assert.ok(await mayChange(browser))
  }
})

test('a user who signed in at the provider a moment ago has signed in recently', async () => {
  provider.signedInAgo = 60
  const browser = new TestBrowser(running)
  await signInAt(running, browser)
  assert.ok(await mayChange(browser))
  provider.signedInAgo = 3_600
})

test('a silent sign-in in another tab does not answer prompt=login or max_age', async () => {
  for (const more of [{ prompt: 'login' }, { max_age: '60' }, { prompt: 'select_account' }]) {
    const browser = new TestBrowser(running)
    const request = { client_id: 'web', response_type: 'code', scope: 'openid', ...pkce(), ...more }
    const page = await browser.get(authorizeUrl(request))
    const { continuation = '' } = hiddenFields(page)
    await signInAt(running, browser)
    const resumed = await browser.get(`/authorize/continue?${new URLSearchParams({ continuation })}`)
    assert.match(resumed.text, /action="\/login"/, JSON.stringify(more))
    const address = await choose(browser, resumed)
    assert.deepEqual(requested(address), ['login', '0'])
    const end = await browser.follow(await browser.get(await followProvider(address)))
    assert.doesNotMatch(end.text, /action="\/login"/)
    assert.ok(end.status < 400, end.text)
  }
})

test('a second factor after a silent sign-in at the provider makes nothing recent', async () => {
  const { user } = provider
  provider.user = { sub: 'u-2', email: 'fay@example.com', email_verified: true }
  provider.signedInAgo = 0
  const browser = new TestBrowser(running)
  await signInAt(running, browser)
  const enrolment = await browser.get('/account/factors/app')
  const app = new TestApp(running, enrolment)
  assert.equal((await browser.submit(enrolment, { code: app.code() })).status, 200)
  for (const [ago, isRecent] of [
    [3_600, false],
    [0, true],
  ] as const) {
    provider.signedInAgo = ago
    await browser.submit(await browser.get('/end_session'), { decision: 'leave' })
    const factor = await signInAt(running, browser)
    assert.ok(asksForFactor(factor), factor.text)
    await browser.follow(await browser.submit(factor, { code: app.nextCode() }))
    assert.equal(await mayChange(browser), isRecent)
  }
  Object.assign(provider, { user, signedInAgo: 3_600 })
  running.clock.set(Date.now())
})

test('who must enrol a factor for a client after a silent sign-in signs in again, once', async () => {
  const browser = new TestBrowser(running)
  await signInAt(running, browser)
  const claims = JSON.stringify({ id_token: { acr: { essential: true, values: [multiFactorAcr] } } })
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', ...pkce(), claims }
  const address = await choose(browser, await browser.get(authorizeUrl(request)))
  assert.deepEqual(requested(address), ['login', '0'])
  const page = await browser.follow(await browser.get(await followProvider(address)))
  assert.match(page.text, /action="\/login\/enrol"/)
})

test('where a factor is required, the first one is enrolled after a new sign-in at the provider', async () => {
  const strict = await setupWith([connectionTo(provider)], { mfa: 'required' })
  const { user } = provider
  for (const [ago, sub, misbehaviour] of [
    [3_600, 'u-5', undefined],
    [60, 'u-6', 'no_auth_time'],
  ] as const) {
    provider.user = { sub, email: `${sub}@example.com`, email_verified: true }
    Object.assign(provider, { signedInAgo: ago, misbehaviour })
    const browser = new TestBrowser(strict)
    const silent = await signInAt(strict, browser)
    provider.misbehaviour = undefined
    assert.equal(silent.status, 401)
    assert.doesNotMatch(silent.text, /action="\/login\/enrol"/)
    assert.match(silent.text, /Sign in once more before you set up the second step/)
    assert.ok(!browser.cookies.has('gatehouse_session'))
    const address = await choose(browser, silent)
    assert.deepEqual(requested(address), ['login', '0'])
    const page = await browser.follow(await browser.get(await followProvider(address)))
    assert.match(page.text, /action="\/login\/enrol"/)
    const app = new TestApp(strict, page)
    assert.equal((await browser.submit(page, { code: app.code() })).status, 200)
  }
  provider.user = { sub: 'u-7', email: 'u-7@example.com', email_verified: true }
  provider.signedInAgo = 60
  assert.match((await signInAt(strict)).text, /action="\/login\/enrol"/, 'a recent one there suffices')
  Object.assign(provider, { user, signedInAgo: 3_600 })
  await strict.close()
})

test('a session lasts as long after a silent sign-in; its auth_time is that at the provider', async () => {
  const { user } = provider
  provider.user = { sub: 'u-3', email: 'gil@example.com', email_verified: true }
  provider.signedInAgo = 300 * 86_400
  const browser = new TestBrowser(running)
  await signInAt(running, browser)
  Object.assign(provider, { user, signedInAgo: 3_600 })
  const { rows } = await running.database.query<{ age: number; lasts: number }>(
    `SELECT n.created_at - n.auth_time AS age, n.expires_at - n.created_at AS lasts
     FROM identity.session n JOIN identity.account a ON a.id = n.user_id WHERE a.email = 'gil@example.com'`,
  )
  const [session] = rows
  assert.ok(session !== undefined && Math.abs(session.age - 300 * 86_400_000) < 60_000, String(session?.age))
  assert.ok(session.lasts > 3_600_000)
  running.clock.set(Date.now() + session.lasts - 60_000)
  assert.match((await browser.get('/account')).text, /gil@example.com/)
  running.clock.set(Date.now() + session.lasts + 60_000)
  assert.match((await browser.get('/account')).text, /gil@example.com/)
  running.clock.set(Date.now())
})

test('a client’s prompt and max_age reach the provider; prompt=none never leads there', async () => {
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', ...pkce() }
  for (const [more, wanted] of [
    [{}, [null, '31536000']],
    [{ prompt: 'consent' }, [null, '31536000']],
    [{ prompt: 'select_account' }, ['login', '0']],
    [{ prompt: 'login consent' }, ['login', '0']],
    [{ max_age: '60' }, ['login', '0']],
  ] as const) {
    const browser = new TestBrowser(running)
    const page = await browser.get(authorizeUrl({ ...request, ...more }))
    const response = await browser.post('/login/providers', { ...hiddenFields(page), connection: 'acme' })
    assert.deepEqual(requested(sentTo(response)), wanted, JSON.stringify(more))
  }
  const silent = await new TestBrowser(running).get(authorizeUrl({ ...request, prompt: 'none' }))
  assert.match(String(silent.headers.location), /error=login_required/)
})
