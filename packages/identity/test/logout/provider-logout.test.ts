import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import { KeyRing, reseal, Secret, unseal } from '@gatehouse/kit'
import { identitySealed } from '../../src/postgres/index.ts'
import { authorizeUrl, callback, pkce, redirectParameters, TestBrowser, webSecret } from '../support/journey.ts'
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
import { encryptionKey, issuer, type Running, type TestResponse } from '../support/setup.ts'

const back = `${issuer}/end_session/return`
const bye = 'https://app.example/bye'

const carol = { sub: 'u-1', sid: 's-1', email: 'carol@example.com', email_verified: true }

let provider: OidcFake
let running: Running
before(async () => {
  const redirectUris = [callbackOf('acme'), callbackOf('local')]
  provider = await startOidc({ client: upstreamClient, redirectUris, postLogoutRedirectUris: [back] })
  running = await setupWith([
    connectionTo(provider, { logout: 'upstream' }),
    connectionTo(provider, { id: 'local', name: 'Local' }),
  ])
})
after(async () => {
  await running.close()
  await provider.stop()
})
beforeEach(() => {
  provider.user = carol
})

/** A browser in which a user of the provider is signed in, with an ID token of ours. */
async function signedIn(connection = 'acme'): Promise<{ browser: TestBrowser; idToken: string }> {
  const browser = new TestBrowser(running)
  const { code_verifier, code_challenge } = pkce()
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', code_challenge, redirect_uri: callback }
  const page = await browser.get(authorizeUrl(request))
  let answer = await browser.follow(await browser.get(await followProvider(await choose(browser, page, connection))))
  if (answer.text.includes('action="/consent"')) answer = await browser.submit(answer, { decision: 'allow' })
  const { code = '' } = redirectParameters(answer)
  const tokens = await running.post('/token', { grant_type: 'authorization_code', code, code_verifier, ...webSecret })
  return { browser, idToken: String(tokens.body.id_token) }
}

const leave = (id_token_hint: string, more: Record<string, string> = {}) =>
  `/end_session?${new URLSearchParams({ id_token_hint, ...more })}`

const isSignedOut = async (browser: TestBrowser) => /action="\/login"/.test((await browser.get('/account')).text)

const returned = async (browser: TestBrowser, response: TestResponse) =>
  browser.get(await followProvider(sentTo(response)))

test('a logout goes on at the provider with the ID token, and comes back to the client', async () => {
  const { browser, idToken } = await signedIn()
  const response = await browser.get(leave(idToken, { post_logout_redirect_uri: bye, state: 'xyz' }))
  assert.match(response.text, /Signing out of Acme/)
  assert.ok(await isSignedOut(browser), 'the session here has ended before the browser leaves')
  const address = sentTo(response)
  assert.equal(address.origin + address.pathname, `${provider.url}/logout`)
  assert.equal(address.searchParams.get('post_logout_redirect_uri'), back)
  const answer = await returned(browser, response)
  assert.equal(answer.headers.location, `${bye}?state=xyz`)
  assert.deepEqual(provider.refusals, [])
  assert.ok(provider.logouts.at(-1)?.get('id_token_hint'))
})

test('a logout by the page goes on at the provider and ends on ours', async () => {
  const browser = new TestBrowser(running)
  await signInAt(running, browser)
  const page = await browser.get('/end_session')
  const response = await browser.submit(page, { decision: 'leave' })
  assert.ok(await isSignedOut(browser))
  const answer = await returned(browser, response)
  assert.match(answer.text, /You have signed out/)
})

test('where it goes is known to the browser that left, once, for ten minutes, with its state', async () => {
  const { browser, idToken } = await signedIn()
  const path = await followProvider(sentTo(await browser.get(leave(idToken, { post_logout_redirect_uri: bye }))))
  const stays = async (who: TestBrowser, at: string) => {
    const answer = await who.get(at)
    assert.equal(answer.headers.location, undefined, at)
    assert.equal(answer.status, 200)
  }
  await stays(new TestBrowser(running), path)
  assert.equal((await browser.get(path)).headers.location, bye)
  await stays(browser, path)
  for (const spoil of [
    async () => '/end_session/return?state=another',
    async () => '/end_session/return',
    async (at: string) => {
      running.clock.advance(10 * 60_000)
      return at
    },
  ]) {
    const next = await signedIn()
    const at = await followProvider(
      sentTo(await next.browser.get(leave(next.idToken, { post_logout_redirect_uri: bye }))),
    )
    await stays(next.browser, await spoil(at))
  }
  running.clock.set(Date.now())
})

test('a logout stays here by the setting, and where the provider can’t take part', async () => {
  provider.user = { sub: 'u-2', email: 'dave@example.com', email_verified: true }
  const local = await signedIn('local')
  provider.user = carol
  assert.equal((await local.browser.get(leave(local.idToken, { post_logout_redirect_uri: bye }))).headers.location, bye)
  const { rows } = await running.database.query(
    `SELECT 1 FROM identity.provider_session p JOIN identity.linked_account l ON l.id = p.link_id
     WHERE l.connection_id = 'local' AND p.id_token_sealed IS NOT NULL`,
  )
  assert.equal(rows.length, 0, 'an ID token is kept only where it is used')
  const { updateConnection } = running.identity.management
  for (const change of [{ name: 'Acme here' }, { issuer: 'http://127.0.0.1:1' }]) {
    const { browser, idToken } = await signedIn()
    provider.misbehaviour = 'no_end_session'
    // A change of the connection has its metadata read again.
    running.clock.advance(1)
    await updateConnection('acme', change)
    const answer = await browser.get(leave(idToken, { post_logout_redirect_uri: bye }))
    assert.equal(answer.headers.location, bye, JSON.stringify(change))
    assert.ok(await isSignedOut(browser))
    provider.misbehaviour = undefined
    running.clock.advance(1)
    await updateConnection('acme', { name: 'Acme', issuer: provider.url })
  }
  const { browser, idToken } = await signedIn()
  await updateConnection('acme', { enabled: false })
  assert.equal((await browser.get(leave(idToken, { post_logout_redirect_uri: bye }))).headers.location, bye)
  await updateConnection('acme', { enabled: true })
  running.clock.set(Date.now())
})

test('an address of the client that no cookie holds is reached without the provider', async () => {
  const { browser, idToken } = await signedIn()
  const state = 'x'.repeat(4_000)
  const answer = await browser.get(leave(idToken, { post_logout_redirect_uri: bye, state }))
  assert.equal(answer.headers.location, `${bye}?state=${state}`)
})

test('who signed in with a password leaves here only, also after another user’s provider', async () => {
  const { browser } = await signedIn()
  browser.cookies.delete('gatehouse_session')
  await browser.signIn(await browser.get('/account'))
  const own = await browser.submit(await browser.get('/end_session'), { decision: 'leave' })
  assert.equal(own.headers.refresh, undefined)
  const alice = new TestBrowser(running)
  await alice.signIn(await alice.get('/account'))
  const left = await alice.submit(await alice.get('/end_session'), { decision: 'leave' })
  assert.equal(left.headers.refresh, undefined)
})

test('the ID token of a session is sealed for it, and a new encryption key seals it again', async () => {
  const { browser, idToken } = await signedIn()
  const newest = 'SELECT id, id_token_sealed AS sealed FROM identity.provider_session ORDER BY id DESC LIMIT 1'
  const [before] = (await running.database.query<{ id: string; sealed: string }>(newest)).rows
  assert.ok(before !== undefined && !before.sealed.includes(idToken))
  const ring = new KeyRing([new Secret('n'.repeat(32)), new Secret(encryptionKey)])
  const column = identitySealed.find(({ table }) => table === 'identity.provider_session') ?? assert.fail()
  const { resealed, remaining } = await reseal(running.database, column, ring)
  assert.ok(resealed > 0)
  assert.deepEqual(remaining, {})
  const [after] = (await running.database.query<{ id: string; sealed: string }>(newest)).rows
  const alone = KeyRing.of(new Secret('n'.repeat(32)))
  const open = (id: string) => unseal(after?.sealed ?? '', alone, column.purpose(id))
  assert.match(open(before.id), /^[\w-]+\.[\w-]+\.[\w-]+$/)
  assert.throws(() => open('00000000-0000-7000-8000-000000000000'), 'that of another session')
  // A key that is missing here leaves the logout local.
  assert.equal((await browser.get(leave(idToken, { post_logout_redirect_uri: bye }))).headers.location, bye)
})
