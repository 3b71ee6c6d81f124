/** The parameter claims (OpenID Connect Core 5.5): what it may bring, and what a user agreed to. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { userClaims } from '../src/model/user.ts'
import { answerParameters, authorizeUrl, callback, hiddenFields, pkce, TestBrowser, users } from './journey.ts'
import { type Answer, served } from './setup.ts'

const application = (client_id: string, more: object = {}) => ({
  client_id,
  client_secret: `${client_id}-secret-0123456789`,
  redirect_uris: [callback],
  require_pkce: false,
  scopes: ['openid', 'profile', 'email', 'phone', 'offline_access'],
  ...more,
})
const running = served({
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

/** The page that asks for consent, after a login where one is needed. */
async function consentPage(browser: TestBrowser, url: string): Promise<Answer> {
  const page = await browser.get(url)
  return page.text.includes('action="/login"') ? browser.signIn(page) : page
}

const allow = async (browser: TestBrowser, page: Answer) =>
  answerParameters(page.headers.location ? page : await browser.submit(page, { decision: 'allow' }))

const silently = async (browser: TestBrowser, client: string, more: Record<string, string>) =>
  answerParameters(await browser.get(requestOf(client, { prompt: 'none', ...more })))

async function exchange(client_id: string, code = ''): Promise<Record<string, string>> {
  const secret = { client_id, client_secret: `${client_id}-secret-0123456789` }
  const answer = await running.post('/token', { grant_type: 'authorization_code', code, ...secret })
  assert.equal(answer.status, 200, answer.text)
  return answer.body as Record<string, string>
}

const standard = new Set(['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'acr', 'amr', 'sid'])

/** The claims about the user that a client is told, in its ID token and by userinfo. */
async function told({ id_token = '', access_token }: Record<string, string>): Promise<[string[], string[]]> {
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

test('a claim that no scope of the client covers is not given, with consent or without', async () => {
  for (const client of ['narrow', 'trusted']) {
    const browser = new TestBrowser(running)
    const request = named('email', 'phone_number', 'address', 'birthdate')
    const page = await consentPage(browser, requestOf(client, request))
    assert.doesNotMatch(page.text, /email address|phone number/)
    const { code } = await allow(browser, page)
    assert.deepEqual(await told(await exchange(client, code)), [[], []])
    const silent = await silently(browser, client, request)
    assert.deepEqual(await told(await exchange(client, silent.code)), [[], []])
  }
})

test('the consent page names every claim beyond the scopes, and each has its words', async () => {
  const browser = new TestBrowser(running)
  const page = await consentPage(browser, requestOf('wide', { scope: 'openid email', ...named('email', 'nickname') }))
  assert.match(page.text, /<li>See your nickname<\/li>/)
  assert.equal(page.text.split('See your email address').length, 2, 'the scope names it already')
  const texts = ['en', 'de'].map((language) => {
    const file = new URL(`../src/pages/texts/${language}.json`, import.meta.url)
    return JSON.parse(readFileSync(file, 'utf8'))
  })
  for (const claim of userClaims)
    assert.ok(
      texts.every((words) => words[`claim.${claim}`]),
      claim,
    )
})

test('a remembered consent covers the claims that its page named, and no others', async () => {
  const browser = new TestBrowser(running)
  await allow(browser, await consentPage(browser, requestOf('wide')))
  assert.equal((await silently(browser, 'wide', named('email'))).error, 'consent_required')
  const { code } = await allow(browser, await consentPage(browser, requestOf('wide', named('email', 'name'))))
  assert.deepEqual(await told(await exchange('wide', code)), [
    ['email', 'name'],
    ['email', 'name'],
  ])
  for (const request of [{}, named('email'), named('name', 'email')]) {
    assert.ok((await silently(browser, 'wide', request)).code, JSON.stringify(request))
  }
  assert.equal((await silently(browser, 'wide', named('phone_number'))).error, 'consent_required')
  assert.equal((await silently(browser, 'wide', { scope: 'openid email' })).error, 'consent_required')
})

test('what two pages named apart was not allowed together', async () => {
  const browser = new TestBrowser(running)
  await allow(browser, await consentPage(browser, requestOf('shop', named('name'))))
  await allow(browser, await consentPage(browser, requestOf('shop', { scope: 'openid phone' })))
  assert.ok((await silently(browser, 'shop', named('name'))).code)
  assert.ok((await silently(browser, 'shop', { scope: 'openid phone', ...named('phone_number') })).code)
  const both = { scope: 'openid phone', ...named('name') }
  assert.equal((await silently(browser, 'shop', both)).error, 'consent_required')
})

test('claims that were allowed are shown to the user and to management until they are withdrawn', async () => {
  const browser = new TestBrowser(running)
  await allow(browser, await consentPage(browser, requestOf('shop', named('nickname'))))
  assert.match((await browser.get('/account')).text, /See your nickname/)
  const consents = await running.identity.management.listConsents('alice')
  const claims = consents.find(({ client_id }) => client_id === 'shop')?.claims
  assert.ok(claims?.includes('nickname'), 'all pages of one client together')
  await running.identity.management.withdrawConsent('alice', 'shop')
  assert.doesNotMatch((await browser.get('/account')).text, /See your nickname/)
  assert.equal((await silently(browser, 'shop', {})).error, 'consent_required')
})

test('a pushed request brings no more claims than one in the address', async () => {
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
  const silent = answerParameters(await browser.get(await push({ prompt: 'none', ...named('gender') })))
  assert.equal(silent.error, 'consent_required')
})

test('without openid, claims bring nothing and are not asked about', async () => {
  const browser = new TestBrowser(running)
  const page = await consentPage(browser, requestOf('wide', { scope: 'email', ...named('name') }))
  assert.doesNotMatch(page.text, /See your name/)
})

test('claims end with the scope of the client that covered them', async () => {
  const browser = new TestBrowser(running)
  const scope = 'openid profile offline_access'
  const { code } = await allow(browser, await consentPage(browser, requestOf('losing', { scope, ...named('email') })))
  const tokens = await exchange('losing', code)
  assert.ok((await told(tokens)).every((names) => names.includes('email')))
  await running.identity.management.updateClient('losing', { scopes: ['openid', 'offline_access'] })
  const refresh_token = tokens.refresh_token ?? ''
  const secret = { client_id: 'losing', client_secret: 'losing-secret-0123456789' }
  const { body } = await running.post('/token', { grant_type: 'refresh_token', refresh_token, ...secret })
  assert.equal(body.scope, 'openid offline_access')
  assert.deepEqual(await told(body as Record<string, string>), [[], []])
  assert.deepEqual((await told(tokens))[1], [], 'userinfo forgets them for older tokens too')
})

test('an answer allows what its page named, whatever the client is registered for meanwhile', async () => {
  const browser = new TestBrowser(running)
  const page = await consentPage(browser, requestOf('growing', named('email', 'name')))
  assert.match(page.text, /See your name/)
  assert.doesNotMatch(page.text, /email address/)
  await running.identity.management.updateClient('growing', { scopes: ['openid', 'profile', 'email'] })
  const { code } = await allow(browser, page)
  assert.deepEqual(await told(await exchange('growing', code)), [['name'], ['name']])
  assert.equal((await silently(browser, 'growing', named('email', 'name'))).error, 'consent_required')
  assert.ok(hiddenFields(page).continuation)
})
