import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { decodeJwt, type JWTPayload } from 'jose'
import { multiFactorAcr, singleFactorAcr } from '../../src/model/authentication.ts'
import { asksForFactor, createPerson, type Enrolled, enrol, isSignedIn, TestApp } from '../support/factors/factors.ts'
import {
  authorizeUrl,
  clients,
  hiddenFields,
  pkce,
  redirectParameters,
  TestBrowser,
  users,
  webSecret,
} from '../support/journey.ts'
import { type Running, setup, type TestResponse } from '../support/setup.ts'

let running: Running
before(async () => {
  running = await setup({ declared: { clients, users }, mfa: 'optional' })
})
after(() => running.close())

const { code_verifier, code_challenge } = pkce()

const ask = (browser: TestBrowser, extra: Record<string, string> = {}) =>
  browser.get(authorizeUrl({ client_id: 'web', response_type: 'code', scope: 'openid', code_challenge, ...extra }))

const essential = (...values: string[]) => ({
  claims: JSON.stringify({ id_token: { acr: { essential: true, values } } }),
})

/** Consents where it is asked for, and returns the claims of the ID token. */
async function claimsAfter(browser: TestBrowser, page: TestResponse): Promise<JWTPayload> {
  const consents = page.text.includes('action="/consent"')
  const response = consents ? await browser.submit(page, { decision: 'allow' }) : page
  const { code = '' } = redirectParameters(response)
  const exchange = { grant_type: 'authorization_code', code, code_verifier, ...webSecret }
  return decodeJwt(String((await running.post('/token', exchange)).body.id_token))
}

/** A user with a factor whose session was started by a remembered device, without it. */
async function remembered(): Promise<Enrolled & { readonly user: readonly [string, string] }> {
  const user = await createPerson(running)
  const { app, codes } = await enrol(running, user)
  const browser = new TestBrowser(running)
  const page = await browser.signIn(await browser.get('/account'), ...user)
  await browser.submit(page, { code: app.nextCode(), remember: 'yes' })
  await browser.submit(await browser.get('/end_session'), { decision: 'leave' })
  await browser.signIn(await browser.get('/account'), ...user)
  assert.ok(await isSignedIn(browser))
  return { user, browser, app, codes }
}

test('a remembered device stands in for the factor, and amr and acr do not claim it', async () => {
  const { browser } = await remembered()
  const { acr, amr } = await claimsAfter(browser, await ask(browser))
  assert.deepEqual([acr, amr], [singleFactorAcr, ['pwd']])
})

test('a step-up asks for the factor alone, keeps sid and auth_time, and changes the cookie', async () => {
  const { browser, app } = await remembered()
  const before = await claimsAfter(browser, await ask(browser))
  const cookie = browser.cookies.get('gatehouse_session')
  running.clock.advance(60_000)
  const page = await ask(browser, { acr_values: multiFactorAcr })
  assert.ok(asksForFactor(page), page.text)
  const raised = await claimsAfter(browser, await browser.follow(await browser.submit(page, { code: app.nextCode() })))
  assert.deepEqual([raised.acr, raised.amr], [multiFactorAcr, ['pwd', 'otp', 'mfa']])
  assert.deepEqual([raised.sid, raised.auth_time], [before.sid, before.auth_time])
  assert.notEqual(browser.cookies.get('gatehouse_session'), cookie)
  const thief = new TestBrowser(running)
  for (const [name, value] of browser.cookies) thief.cookies.set(name, value)
  thief.cookies.set('gatehouse_session', cookie ?? '')
  assert.ok(!(await isSignedIn(thief)), 'the cookie before is void')
  assert.equal((await claimsAfter(browser, await ask(browser))).acr, multiFactorAcr, 'the session keeps the level')
})

test('a step-up cannot be completed from another session of the same user', async () => {
  const { browser, app, user } = await remembered()
  const page = await ask(browser, { acr_values: multiFactorAcr })
  await browser.submit(await browser.get('/end_session'), { decision: 'leave' })
  const fields = hiddenFields(page)
  await browser.signIn(await browser.get('/account'), ...user)
  const form_token = hiddenFields(await browser.get('/account')).form_token ?? ''
  const answer = await browser.post('/login/factor', { ...fields, form_token, code: app.nextCode() })
  assert.equal(answer.status, 400)
})

test('a later sign-in at the lower level does not keep the level of the one before', async () => {
  const { browser, app, user } = await remembered()
  await browser.follow(
    await browser.submit(await ask(browser, { acr_values: multiFactorAcr }), { code: app.nextCode() }),
  )
  const consent = await browser.signIn(await ask(browser, { prompt: 'login' }), ...user)
  assert.equal((await claimsAfter(browser, consent)).acr, singleFactorAcr)
})

test('acr_values out of reach are ignored, and the ID token has the true acr', async () => {
  const user = await createPerson(running)
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'), ...user)
  for (const acr_values of [multiFactorAcr, 'phr', 'urn:example:gold', `phrh ${multiFactorAcr} gold`])
    assert.equal((await claimsAfter(browser, await ask(browser, { acr_values }))).acr, singleFactorAcr, acr_values)
})

test('the first of the acr_values that the user can reach counts', async () => {
  const { browser } = await remembered()
  const lower = await ask(browser, { acr_values: `phr ${singleFactorAcr} ${multiFactorAcr}` })
  assert.match(lower.text, /action="\/consent"/)
  assert.ok(asksForFactor(await ask(browser, { acr_values: `phr ${multiFactorAcr} ${singleFactorAcr}` })))
})

test('an essential acr has a user without a factor enrol one, and is met afterwards', async () => {
  const user = await createPerson(running)
  const browser = new TestBrowser(running)
  const page = await browser.signIn(await ask(browser, essential(multiFactorAcr)), ...user)
  assert.match(page.text, /action="\/login\/enrol"/)
  const shown = await browser.submit(page, { code: new TestApp(running, page).code() })
  const { continuation = '' } = hiddenFields(shown)
  const consent = await browser.get(`/authorize/continue?continuation=${encodeURIComponent(continuation)}`)
  assert.equal((await claimsAfter(browser, consent)).acr, multiFactorAcr)
})

test('an essential acr that the user cannot reach ends in unmet_authentication_requirements', async () => {
  const { browser, app } = await remembered()
  const refused = await ask(browser, essential('phr'))
  assert.equal(redirectParameters(refused).error, 'unmet_authentication_requirements')
  const either = await ask(browser, essential('phr', multiFactorAcr))
  assert.ok(asksForFactor(either))
  const met = await browser.follow(await browser.submit(either, { code: app.nextCode() }))
  assert.equal((await claimsAfter(browser, met)).acr, multiFactorAcr)
})

test('where factors are off, an essential second factor is unmet and not announced', async () => {
  const off = await setup({ declared: { clients, users } })
  const browser = new TestBrowser(off)
  const page = await browser.get(
    authorizeUrl({
      client_id: 'web',
      response_type: 'code',
      scope: 'openid',
      code_challenge,
      ...essential(multiFactorAcr),
    }),
  )
  const answer = await browser.signIn(page)
  assert.equal(redirectParameters(answer).error, 'unmet_authentication_requirements')
  const announced = async (at: Running) =>
    (await at.http.inject('/.well-known/openid-configuration')).json().acr_values_supported
  assert.deepEqual(await announced(off), [singleFactorAcr])
  assert.deepEqual(await announced(running), [singleFactorAcr, multiFactorAcr])
  await off.close()
})

test('prompt=none does not step up', async () => {
  const { browser } = await remembered()
  const silent = await ask(browser, { prompt: 'none', acr_values: multiFactorAcr })
  assert.equal(redirectParameters(silent).error, 'interaction_required')
})

test('max_age asks for the whole sign-in again: the factor alone does not freshen auth_time', async () => {
  const { browser, app, user } = await remembered()
  await claimsAfter(browser, await ask(browser))
  running.clock.advance(120_000)
  const wish = { acr_values: multiFactorAcr, max_age: '60' }
  const login = await ask(browser, wish)
  assert.match(login.text, /action="\/login"/)
  const before = Math.floor(running.clock.now() / 1000)
  const factor = await browser.signIn(login, ...user)
  assert.ok(asksForFactor(factor), 'a remembered device does not reach the level')
  const page = await browser.follow(await browser.submit(factor, { code: app.nextCode() }))
  const claims = await claimsAfter(browser, page)
  assert.deepEqual([claims.acr, Number(claims.auth_time) >= before], [multiFactorAcr, true])
  const recent = await ask(browser, { max_age: '0', prompt: 'none' })
  running.clock.advance(1)
  assert.ok(redirectParameters(recent).code ?? redirectParameters(recent).error)
  assert.match((await ask(browser, { max_age: '0' })).text, /action="\/login"/)
})

test('a remembered device is no recent sign-in for changes of factors', async () => {
  const { browser, app } = await remembered()
  const page = await browser.get('/account/factors/app')
  assert.ok(asksForFactor(page), page.text)
  const shown = await browser.follow(await browser.submit(page, { code: app.nextCode() }))
  assert.match(shown.text, /action="\/account\/factors\/app"/)
})

test('a remembered device is dead after a password change, a factor change and 30 days', async () => {
  for (const end of ['password', 'factor', 'time'] as const) {
    const { browser, app, user } = await remembered()
    const password = end === 'password' ? 'another long secret' : user[1]
    if (end === 'password') await running.identity.management.setPassword(user[0], password)
    if (end === 'time') running.clock.advance(30 * 86_400_000 + 1)
    if (end === 'factor') {
      const factor = await browser.get('/account/factors/app')
      const shown = await browser.follow(await browser.submit(factor, { code: app.nextCode() }))
      await browser.submit(shown, { code: new TestApp(running, shown).code() })
    }
    const other = new TestBrowser(running)
    other.cookies.set('gatehouse_remembered', browser.cookies.get('gatehouse_remembered') ?? '')
    const page = await other.signIn(await other.get('/account'), user[0], password)
    assert.ok(asksForFactor(page), end)
  }
})

test('a remembered device of one user does not stand in for the factor of another', async () => {
  const { browser } = await remembered()
  const other = await createPerson(running)
  await enrol(running, other)
  await browser.submit(await browser.get('/end_session'), { decision: 'leave' })
  assert.ok(asksForFactor(await browser.signIn(await browser.get('/account'), ...other)))
})
