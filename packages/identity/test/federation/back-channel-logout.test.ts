import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import { getTokens, hiddenFields, TestBrowser, webSecret } from '../support/journey.ts'
import {
  callbackOf,
  choose,
  connectionTo,
  followProvider,
  setupWith,
  signInAt,
  upstreamClient,
} from '../support/providers.ts'
import type { Running, TestResponse } from '../support/setup.ts'

let provider: OidcFake
let running: Running
before(async () => {
  const redirectUris = [callbackOf('acme'), callbackOf('twin')]
  provider = await startOidc({ client: upstreamClient, redirectUris })
  running = await setupWith([connectionTo(provider), connectionTo(provider, { id: 'twin', name: 'Twin' })])
})
after(async () => {
  await running.close()
  await provider.stop()
})

const carol = { sub: 'carol', email: 'carol@example.com', email_verified: true }
beforeEach(() => {
  provider.user = { ...carol, sid: 's-1' }
})

const send = (logout_token: string, connection = 'acme'): Promise<TestResponse> =>
  running.post(`/login/providers/${connection}/logout`, { logout_token })

const signIn = async (sid: string | null = 's-1', user: object = carol, connection = 'acme') => {
  provider.user = { ...carol, ...user, ...(sid === null ? {} : { sid }) }
  const browser = new TestBrowser(running)
  await signInAt(running, browser, connection)
  assert.ok(await isSignedIn(browser))
  return browser
}

const isSignedIn = async (browser: TestBrowser) => !/action="\/login"/.test((await browser.get('/account')).text)

test('a logout at the provider ends the session that it is about, and no other', async () => {
  const [one, two] = [await signIn('s-1'), await signIn('s-2')]
  const response = await send(provider.createLogoutToken({ claims: { sid: 's-1' } }))
  assert.deepEqual([response.status, response.headers['cache-control']], [200, 'no-store'])
  assert.deepEqual([await isSignedIn(one), await isSignedIn(two)], [false, true])
  const { rows } = await running.database.query(
    "SELECT details ->> 'connection' AS connection, actor FROM identity.audit_event WHERE type = 'session_ended'",
  )
  assert.deepEqual(rows, [{ connection: 'acme', actor: null }])
})

test('a logout token that names the user ends all sessions through that account, and no others', async () => {
  const ended = [await signIn('s-1'), await signIn('s-3')]
  const dave = await signIn('s-1', { sub: 'dave', email: 'dave@example.com' })
  provider.user = { ...carol, sid: undefined }
  const own = new TestBrowser(running)
  await own.signIn(await own.get('/account'))
  assert.equal((await send(provider.createLogoutToken())).status, 200)
  for (const browser of ended) assert.equal(await isSignedIn(browser), false)
  assert.deepEqual([await isSignedIn(dave), await isSignedIn(own)], [true, true])
})

test('a logout token with sid alone ends that session; one that nobody has ends none', async () => {
  const browser = await signIn('s-alone')
  for (const sid of ['s-unknown', 's-alone']) {
    assert.ok(await isSignedIn(browser))
    assert.equal((await send(provider.createLogoutToken({ claims: { sub: undefined, sid } }))).status, 200)
  }
  assert.equal(await isSignedIn(browser), false)
})

test('a session whose ID token named none ends with any of its user there', async () => {
  const browser = await signIn(null)
  provider.user = carol
  assert.equal((await send(provider.createLogoutToken({ claims: { sub: undefined, sid: 's-9' } }))).status, 200)
  assert.ok(await isSignedIn(browser))
  assert.equal((await send(provider.createLogoutToken({ claims: { sid: 's-9' } }))).status, 200)
  assert.equal(await isSignedIn(browser), false)
})

test('connecting a provider is no sign-in through it', async () => {
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'))
  provider.user = { sub: 'alice-there', sid: 's-a' }
  const path = await followProvider(await choose(browser, await browser.get('/account/providers')))
  await browser.follow(await browser.get(path))
  assert.equal((await send(provider.createLogoutToken())).status, 200)
  assert.ok(await isSignedIn(browser))
})

test('a session that a password continued ends with the provider’s that began it', async () => {
  const browser = await signIn('s-a', { sub: 'alice-there' })
  running.clock.advance(6 * 60_000)
  const page = await browser.post('/account/providers', {
    ...hiddenFields(await browser.get('/account/providers')),
    connection: 'acme',
  })
  await browser.signIn(page)
  running.clock.set(Date.now())
  assert.equal((await send(provider.createLogoutToken())).status, 200)
  assert.equal(await isSignedIn(browser), false)
})

test('whatever is wrong with a logout token, no session ends', async () => {
  const browser = await signIn('s-1')
  const now = Math.floor(Date.now() / 1000)
  const event = 'http://schemas.openid.net/event/backchannel-logout'
  for (const [what, facts] of [
    ['issuer', { claims: { iss: 'https://other.example' } }],
    ['audience', { claims: { aud: 'another-client' } }],
    ['no audience', { claims: { aud: undefined } }],
    ['no events', { claims: { events: undefined } }],
    ['another event', { claims: { events: { 'http://schemas.openid.net/event/other': {} } } }],
    ['event as text', { claims: { events: event } }],
    ['event that is a list', { claims: { events: { [event]: [] } } }],
    ['nonce', { claims: { nonce: 'n' } }],
    ['null nonce', { claims: { nonce: null } }],
    ['no jti', { claims: { jti: undefined } }],
    ['no iat', { claims: { iat: undefined } }],
    ['no exp', { claims: { exp: undefined } }],
    ['expired', { claims: { iat: now - 300, exp: now - 120 } }],
    ['old', { claims: { iat: now - 3_600, exp: now + 3_600 } }],
    ['future', { claims: { iat: now + 300, exp: now + 600 } }],
    ['nobody', { claims: { sub: undefined, sid: undefined } }],
    ['number as subject', { claims: { sub: 7 } }],
    ['empty sid', { claims: { sid: '' } }],
    ['long sid', { claims: { sid: 's'.repeat(256) } }],
    ['type of an access token', { header: { typ: 'at+jwt' } }],
    ['other key', { wrongKey: true }],
    ['unknown key', { header: { kid: 'k2' } }],
    ['none', { header: { alg: 'none' } }],
    ['symmetric', { header: { alg: 'HS256' } }],
  ] as const) {
    const response = await send(provider.createLogoutToken(facts))
    assert.equal(response.status, 400, what)
    assert.deepEqual(response.body, { error: 'invalid_request', error_description: 'the logout token is not valid' })
  }
  const token = provider.createLogoutToken()
  for (const text of ['', 'x', `${token}x`, `${token.slice(0, -4)}AAAA`, `${'x'.repeat(9_000)}.y.z`])
    assert.equal((await send(text)).status, 400)
  const json = await running.http.inject({
    method: 'POST',
    url: '/login/providers/acme/logout',
    payload: { logout_token: token },
  })
  assert.equal(json.statusCode, 400)
  assert.ok(await isSignedIn(browser))
  const audiences = { claims: { aud: ['another-client', upstreamClient.id] } }
  assert.equal((await send(provider.createLogoutToken({ ...audiences, header: { typ: undefined } }))).status, 200)
  assert.equal(await isSignedIn(browser), false)
})

test('an ID token of the provider is no logout token', async () => {
  const browser = await signIn('s-1')
  const token = provider.createLogoutToken({ claims: { events: undefined, nonce: 'n' }, header: { typ: 'JWT' } })
  assert.equal((await send(token)).status, 400)
  assert.ok(await isSignedIn(browser))
})

test('a logout token counts once, also of two at once, and at its own connection', async () => {
  await signIn('s-1')
  const token = provider.createLogoutToken()
  const statuses = (await Promise.all([send(token), send(token)])).map(({ status }) => status)
  assert.deepEqual(statuses.sort(), [200, 400])
  const later = await signIn('s-1')
  assert.equal((await send(token)).status, 400)
  assert.ok(await isSignedIn(later), 'a replay does not end a later session')
  for (const connection of ['twin', 'unknown']) await send(provider.createLogoutToken(), connection)
  assert.ok(await isSignedIn(later), 'a token at another connection ends nothing of this one')
})

test('a disabled connection takes no logout token', async () => {
  const browser = await signIn('s-1')
  await running.identity.management.updateConnection('acme', { enabled: false })
  assert.equal((await send(provider.createLogoutToken())).status, 400)
  await running.identity.management.updateConnection('acme', { enabled: true })
  assert.ok(await isSignedIn(browser))
})

test('a logout token is not rejected for good while the keys of the provider can’t be read', async () => {
  const browser = await signIn('s-1')
  const token = provider.createLogoutToken()
  const { updateConnection } = running.identity.management
  running.clock.advance(1)
  await updateConnection('acme', { issuer: 'http://127.0.0.1:1' })
  assert.equal((await send(token)).status, 503)
  assert.ok(await isSignedIn(browser))
  running.clock.advance(1)
  await updateConnection('acme', { issuer: provider.url })
  assert.equal((await send(token)).status, 200)
  assert.equal(await isSignedIn(browser), false)
})

test('refresh tokens outlive the session, as with every logout', async () => {
  provider.user = { ...carol, sid: 's-r' }
  const browser = await signIn('s-r')
  const tokens = await getTokens(running, { browser })
  assert.equal((await send(provider.createLogoutToken())).status, 200)
  assert.equal(await isSignedIn(browser), false)
  const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '', ...webSecret }
  assert.equal((await running.post('/token', form)).status, 200)
})
