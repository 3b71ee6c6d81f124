/** The parameter claims (OpenID Connect Core 5.5): what it may add, and what a user consented to. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { userClaims } from '../../src/model/user.ts'
import {
  authorizeUrl,
  callback,
  hiddenFields,
  pkce,
  redirectParameters,
  TestBrowser,
  users,
} from '../support/journey.ts'
import { setupOnce, type TestResponse } from '../support/setup.ts'

const application = (client_id: string, more: object = {}) => ({
  client_id,
  client_secret: `${client_id}-secret-0123456789`,
  redirect_uris: [callback],
  require_pkce: false,
  scopes: ['openid', 'profile', 'email', 'phone', 'offline_access'],
  ...more,
})
const running = setupOnce({
  declared: {
    clients: [
      application('narrow', { scopes: ['openid'] }),
      application('trusted', { scopes: ['openid'], skip_consent: true }),
      application('wide'),
      application('shop'),
      application('losing', { skip_consent: true }),
      application('growing', { scopes: ['openid', 'profile'] }),
    ],
    users,
  },
})

const named = (...names: string[]) => {
  const members = Object.fromEntries(names.map((name) => [name, null]))
  return { claims: JSON.stringify({ userinfo: members, id_token: members }) }
}

const requestOf = (client_id: string, more: Record<string, string> = {}) =>
  authorizeUrl({ client_id, response_type: 'code', scope: 'openid', ...more })

/** The consent page, after a login if one is needed. */
async function consentPage(browser: TestBrowser, url: string): Promise<TestResponse> {
  const page = await browser.get(url)
  return page.text.includes('action="/login"') ? browser.signIn(page) : page
}

const allow = async (browser: TestBrowser, page: TestResponse) =>
  redirectParameters(page.headers.location ? page : await browser.submit(page, { decision: 'allow' }))

const silently = async (browser: TestBrowser, client: string, more: Record<string, string>) =>
  redirectParameters(await browser.get(requestOf(client, { prompt: 'none', ...more })))

async function exchange(client_id: string, code = ''): Promise<Record<string, string>> {
  const secret = { client_id, client_secret: `${client_id}-secret-0123456789` }
  const response = await running.post('/token', { grant_type: 'authorization_code', code, ...secret })
  assert.equal(response.status, 200, response.text)
  return response.body as Record<string, string>
}

const standard = new Set(['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'acr', 'amr', 'sid'])

/** The names of the user claims that a client gets, in its ID token and from userinfo. */
async function claimNames({ id_token = '', access_token }: Record<string, string>): Promise<[string[], string[]]> {
  const userinfo = await running.http.inject({
    url: '/userinfo',
    headers: { authorization: `Bearer ${access_token}` },
  })
  const about = (claims: object) =>
    Object.keys(claims)
      .filter((name) => !standard.has(name))
      .sort()
  return [about(decodeJwt(id_token)), about(userinfo.json())]
}

test('a claim that no scope of the client covers is never returned, with or without consent', async () => {
  for (const client of ['narrow', 'trusted']) {
    const browser = new TestBrowser(running)
    const request = named('email', 'phone_number', 'address', 'birthdate')
    const page = await consentPage(browser, requestOf(client, request))
    assert.doesNotMatch(page.text, /email address|phone number/)
    const { code } = await allow(browser, page)
    assert.deepEqual(await claimNames(await exchange(client, code)), [[], []])
    const silent = await silently(browser, client, request)
    assert.deepEqual(await claimNames(await exchange(client, silent.code)), [[], []])
  }
})

test('the consent page names every claim beyond the scopes, in every language', async () => {
  const browser = new TestBrowser(running)
  const page = await consentPage(browser, requestOf('wide', { scope: 'openid email', ...named('email', 'nickname') }))
  assert.match(page.text, /<li>See your nickname<\/li>/)
  assert.equal(page.text.split('See your email address').length, 2, 'the scope already names it')
  const texts = ['en', 'de'].map((language) => {
    const file = new URL(`../../src/pages/texts/${language}.json`, import.meta.url)
    return JSON.parse(readFileSync(file, 'utf8'))
  })
  for (const claim of userClaims)
    assert.ok(
      texts.every((words) => words[`claim.${claim}`]),
      claim,
    )
})

test('a remembered consent covers only the claims that its page named', async () => {
  const browser = new TestBrowser(running)
  await allow(browser, await consentPage(browser, requestOf('wide')))
  assert.equal((await silently(browser, 'wide', named('email'))).error, 'consent_required')
  const { code } = await allow(browser, await consentPage(browser, requestOf('wide', named('email', 'name'))))
  assert.deepEqual(await claimNames(await exchange('wide', code)), [
    ['email', 'name'],
    ['email', 'name'],
  ])
  for (const request of [{}, named('email'), named('name', 'email')]) {
    assert.ok((await silently(browser, 'wide', request)).code, JSON.stringify(request))
  }
  assert.equal((await silently(browser, 'wide', named('phone_number'))).error, 'consent_required')
  assert.equal((await silently(browser, 'wide', { scope: 'openid email' })).error, 'consent_required')
})

test('access granted on two separate pages does not add up to both together', async () => {
  const browser = new TestBrowser(running)
  await allow(browser, await consentPage(browser, requestOf('shop', named('name'))))
  await allow(browser, await consentPage(browser, requestOf('shop', { scope: 'openid phone' })))
  assert.ok((await silently(browser, 'shop', named('name'))).code)
  assert.ok((await silently(browser, 'shop', { scope: 'openid phone', ...named('phone_number') })).code)
  const both = { scope: 'openid phone', ...named('name') }
  assert.equal((await silently(browser, 'shop', both)).error, 'consent_required')
})

test('granted claims are listed for the user and for management until they are withdrawn', async () => {
  const browser = new TestBrowser(running)
  await allow(browser, await consentPage(browser, requestOf('shop', named('nickname'))))
  assert.match((await browser.get('/account')).text, /See your nickname/)
  const consents = await running.identity.management.listConsents('alice')
  const claims = consents.find(({ client_id }) => client_id === 'shop')?.claims
  assert.ok(claims?.includes('nickname'), 'all consents of a client are merged')
  await running.identity.management.withdrawConsent('alice', 'shop')
  assert.doesNotMatch((await browser.get('/account')).text, /See your nickname/)
  assert.equal((await silently(browser, 'shop', {})).error, 'consent_required')
})

test('a pushed request returns no more claims than one in the URL', async () => {
  const browser = new TestBrowser(running)
  const push = async (more: Record<string, string>) => {
    const secret = { client_id: 'wide', client_secret: 'wide-secret-0123456789' }
    const request = { response_type: 'code', scope: 'openid', ...pkce(), ...secret, ...more }
    const { body } = await running.post('/par', request)
    return authorizeUrl({ client_id: 'wide', request_uri: String(body.request_uri) })
  }
  const page = await consentPage(browser, await push(named('gender')))
  assert.match(page.text, /See your gender/)
  await browser.submit(page, { decision: 'deny' })
  const silent = redirectParameters(await browser.get(await push({ prompt: 'none', ...named('gender') })))
  assert.equal(silent.error, 'consent_required')
})

test('claims without the scope openid are ignored', async () => {
  const browser = new TestBrowser(running)
  const page = await consentPage(browser, requestOf('wide', { scope: 'email', ...named('name') }))
  assert.doesNotMatch(page.text, /See your name/)
})

test('claims end with the client scope that covered them', async () => {
  const browser = new TestBrowser(running)
  const scope = 'openid profile offline_access'
  const { code } = await allow(browser, await consentPage(browser, requestOf('losing', { scope, ...named('email') })))
  const tokens = await exchange('losing', code)
  assert.ok((await claimNames(tokens)).every((names) => names.includes('email')))
  await running.identity.management.updateClient('losing', { scopes: ['openid', 'offline_access'] })
  const refresh_token = tokens.refresh_token ?? ''
  const secret = { client_id: 'losing', client_secret: 'losing-secret-0123456789' }
  const { body } = await running.post('/token', { grant_type: 'refresh_token', refresh_token, ...secret })
  assert.equal(body.scope, 'openid offline_access')
  assert.deepEqual(await claimNames(body as Record<string, string>), [[], []])
  assert.deepEqual((await claimNames(tokens))[1], [], 'userinfo omits them for earlier tokens too')
})

test('consent covers what its page named, even if the client’s registration grows meanwhile', async () => {
  const browser = new TestBrowser(running)
  const page = await consentPage(browser, requestOf('growing', named('email', 'name')))
  assert.match(page.text, /See your name/)
  assert.doesNotMatch(page.text, /email address/)
  await running.identity.management.updateClient('growing', { scopes: ['openid', 'profile', 'email'] })
  const { code } = await allow(browser, page)
  assert.deepEqual(await claimNames(await exchange('growing', code)), [['name'], ['name']])
  assert.equal((await silently(browser, 'growing', named('email', 'name'))).error, 'consent_required')
  assert.ok(hiddenFields(page).continuation)
})
