import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { decodeJwt } from 'jose'
import type { NotifyRequest } from '../../src/index.ts'
import { multiFactorAcr, singleFactorAcr } from '../../src/model/authentication.ts'
import { asksForFactor, createPerson, enrol, isSignedIn } from '../support/factors/factors.ts'
import { authorizeUrl, clients, getCode, getTokens, pkce, TestBrowser, users, webSecret } from '../support/journey.ts'
import { isNotice } from '../support/notices.ts'
import { type Running, setup } from '../support/setup.ts'

/*
 * Every way to a session or to tokens, for a user with a second factor.
 */

let running: Running
let attacked = false
const mails: NotifyRequest[] = []
const waiting: ((mail: NotifyRequest) => void)[] = []
before(async () => {
  running = await setup({
    declared: { clients, users },
    features: { registration: true },
    limit: async (policy) => ({ allowed: !(attacked && policy === 'login-account') }),
    notify: async (mail) => {
      if (isNotice(mail)) return
      const next = waiting.shift()
      if (next) next(mail)
      else mails.push(mail)
    },
    mfa: 'optional',
  })
})
after(() => running.close())

function nextMail(): Promise<NotifyRequest> {
  const mail = mails.shift()
  return mail ? Promise.resolve(mail) : new Promise((resolve) => waiting.push(resolve))
}

const pathOf = (mail: NotifyRequest) => String(mail.data.link).replace('http://localhost:8080', '')

async function enrolledPerson() {
  const user = await createPerson(running)
  return { user, ...(await enrol(running, user)) }
}

test('a password reset by mail drops no factor and signs nobody in', async () => {
  const { user } = await enrolledPerson()
  const thief = new TestBrowser(running)
  await thief.submit(await thief.get('/password/forgot'), { email: `${user[0]}@people.example` })
  const done = await thief.submit(await thief.get(pathOf(await nextMail())), { new_password: 'a stolen mailbox' })
  assert.match(done.text, /Password changed/)
  assert.ok(!(await isSignedIn(thief)))
  const page = await thief.signIn(await thief.get('/account'), user[0], 'a stolen mailbox')
  assert.ok(asksForFactor(page), page.text)
  assert.ok(!(await isSignedIn(thief)))
})

test('a mailed link that confirms a sign-in still asks for the factor', async () => {
  const { user, app } = await enrolledPerson()
  const browser = new TestBrowser(running)
  const login = await browser.get('/account')
  attacked = true
  await browser.submit(login, { username: user[0], password: user[1] })
  attacked = false
  const page = await browser.submit(await browser.get(pathOf(await nextMail())))
  assert.ok(asksForFactor(page), page.text)
  assert.ok(!(await isSignedIn(browser)))
  await browser.submit(page, { code: app.nextCode() })
  assert.ok(await isSignedIn(browser))
})

test('a registration link for the address of a user with a factor creates no way in', async () => {
  const { user } = await enrolledPerson()
  const browser = new TestBrowser(running)
  await browser.submit(await browser.get('/register'), { email: `${user[0]}@people.example` })
  assert.ok(!(await isSignedIn(browser)))
  assert.ok(asksForFactor(await browser.signIn(await browser.get('/account'), ...user)))
})

test('the device flow asks for the factor before it shows the form for the code', async () => {
  const { user, app } = await enrolledPerson()
  const { body } = await running.post('/device_authorization', { client_id: 'tv', scope: 'openid' })
  const code = String(body.user_code)
  const browser = new TestBrowser(running)
  const page = await browser.signIn(await browser.get(`/device?user_code=${code}`), ...user)
  assert.ok(asksForFactor(page), page.text)
  const posted = await browser.post('/device', { user_code: code, form_token: 'none' })
  assert.equal(posted.status, 403)
  const form = await browser.follow(await browser.submit(page, { code: app.nextCode() }))
  const confirm = await browser.submit(form, { user_code: code })
  await browser.submit(confirm, { decision: 'allow' })
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  const poll = { grant_type, device_code: String(body.device_code), client_id: 'tv' }
  const tokens = (await running.post('/token', poll)).body
  assert.equal(decodeJwt(String(tokens.id_token)).acr, multiFactorAcr)
})

test('an API key of a user with a factor opens no page', async () => {
  const { user } = await enrolledPerson()
  const { key } = await running.identity.management.createApiKey({ owner: user[0], name: 'a key', scopes: [] })
  const browser = new TestBrowser(running, { 'x-api-key': String(key), authorization: `Bearer ${key}` })
  assert.ok(!(await isSignedIn(browser)))
  assert.match((await browser.get('/account/factors')).text, /action="\/login"/)
  assert.equal((await running.identity.resolveApiKey(String(key)))?.owner, user[0])
})

test('signing in again within a session asks for the factor and keeps the session until then', async () => {
  const { user, app, browser } = await enrolledPerson()
  const { code_challenge } = pkce()
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', prompt: 'login', code_challenge }
  const cookie = browser.cookies.get('gatehouse_session')
  const page = await browser.signIn(await browser.get(authorizeUrl(request)), ...user)
  assert.ok(asksForFactor(page), page.text)
  assert.equal(browser.cookies.get('gatehouse_session'), cookie)
  const consent = await browser.follow(await browser.submit(page, { code: app.nextCode() }))
  assert.match(consent.text, /action="\/consent"/)
  assert.notEqual(browser.cookies.get('gatehouse_session'), cookie)
})

test('a session from before the factor counts as signed out until its user proves the factor', async () => {
  const user = await createPerson(running)
  const older = new TestBrowser(running)
  await older.signIn(await older.get('/account'), ...user)
  assert.ok(await isSignedIn(older))
  const { app } = await enrol(running, user)
  for (const path of ['/account', '/account/password', '/account/factors', '/account/factors/app', '/device'])
    assert.match((await older.get(path)).text, /action="\/login"/, path)
  const { code_challenge } = pkce()
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', code_challenge }
  assert.match((await older.get(authorizeUrl(request))).text, /action="\/login"/)
  const silent = await older.get(authorizeUrl({ ...request, prompt: 'none' }))
  assert.match(String(silent.headers.location), /error=login_required/)
  const factor = await older.signIn(await older.get('/account'), ...user)
  await older.submit(factor, { code: app.nextCode() })
  assert.ok(await isSignedIn(older))
  assert.equal((await running.identity.management.listSessions(user[0])).length, 2, 'the older session continues')
})

test('a consent page from before the factor gives no code', async () => {
  const user = await createPerson(running)
  const older = new TestBrowser(running)
  await older.signIn(await older.get('/account'), ...user)
  const { code_challenge } = pkce()
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', code_challenge }
  const consent = await older.get(authorizeUrl(request))
  assert.match(consent.text, /action="\/consent"/)
  await enrol(running, user)
  const answer = await older.submit(consent, { decision: 'allow' })
  assert.equal(answer.status, 403)
  assert.equal(answer.headers.location, undefined)
})

test('a device code that an older session entered is not approved without the factor', async () => {
  const user = await createPerson(running)
  const older = new TestBrowser(running)
  const { body } = await running.post('/device_authorization', { client_id: 'tv', scope: 'openid' })
  const user_code = String(body.user_code)
  const form = await older.signIn(await older.get(`/device?user_code=${user_code}`), ...user)
  const confirm = await older.submit(form, { user_code })
  await enrol(running, user)
  assert.equal((await older.submit(confirm, { decision: 'allow' })).status, 403)
})

test('tokens from before the factor are refreshed at their own level and time', async () => {
  const user = await createPerson(running)
  const tokens = await getTokens(running, { user })
  const { auth_time } = decodeJwt(String(tokens.id_token))
  await enrol(running, user)
  running.clock.advance(60_000)
  const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '', ...webSecret }
  const { body } = await running.post('/token', refresh)
  const claims = decodeJwt(String(body.access_token))
  assert.deepEqual([claims.acr, claims.auth_time], [singleFactorAcr, auth_time])
})

test('a code issued before the factor is exchanged at its own level', async () => {
  const user = await createPerson(running)
  const { code, code_verifier } = await getCode(running, { user, scope: 'openid' })
  await enrol(running, user)
  const { body } = await running.post('/token', { grant_type: 'authorization_code', code, code_verifier, ...webSecret })
  assert.equal(decodeJwt(String(body.id_token)).acr, singleFactorAcr)
})

test('a suspended session can be signed out', async () => {
  const user = await createPerson(running)
  const older = new TestBrowser(running)
  await older.signIn(await older.get('/account'), ...user)
  await enrol(running, user)
  await older.submit(await older.get('/end_session'), { decision: 'leave' })
  assert.equal((await running.identity.management.listSessions(user[0])).length, 1)
})
