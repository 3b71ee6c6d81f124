import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { multiFactorAcr } from '../../src/model/authentication.ts'
import { asksForFactor, enrol, isSignedIn, signInWithCode, TestApp } from '../support/factors/factors.ts'
import {
  authorizeUrl,
  clients,
  getCode,
  hiddenFields,
  pkce,
  TestBrowser,
  users,
  webSecret,
} from '../support/journey.ts'
import { type Running, setup } from '../support/setup.ts'

const options = { mfa: 'optional', declared: { clients, users } } as const

/** Identity with an enrolled alice. */
async function setupEnrolled() {
  const running = await setup(options)
  return { running, ...(await enrol(running)), [Symbol.asyncDispose]: () => running.close() }
}

/** A browser in which alice's password was accepted, and the page that asks for the factor. */
async function askForFactor(running: Running) {
  const browser = new TestBrowser(running)
  const page = await browser.signIn(await browser.get('/account'))
  assert.ok(asksForFactor(page), page.text)
  return { browser, page }
}

test('a user with a factor has no session before its code is accepted', async () => {
  await using it = await setupEnrolled()
  const { browser, page } = await askForFactor(it.running)
  assert.ok(!browser.cookies.has('gatehouse_session'))
  assert.ok(!(await isSignedIn(browser)))
  const wrong = await browser.submit(page, { code: '000000' })
  assert.equal(wrong.status, 401)
  assert.ok(!browser.cookies.has('gatehouse_session'))
  await browser.follow(await browser.submit(wrong, { code: it.app.nextCode() }))
  assert.ok(await isSignedIn(browser))
})

test('tokens of a sign-in with a code say so in amr and acr', async () => {
  await using it = await setupEnrolled()
  const browser = new TestBrowser(it.running)
  await signInWithCode(browser, await browser.get('/account'), { code: it.app.nextCode() })
  const { code, code_verifier } = await getCode(it.running, { browser, scope: 'openid' })
  const { body } = await it.running.post('/token', {
    grant_type: 'authorization_code',
    code,
    code_verifier,
    ...webSecret,
  })
  const { acr, amr } = decodeJwt(String(body.id_token))
  assert.deepEqual([acr, amr], [multiFactorAcr, ['pwd', 'otp', 'mfa']])
})

test('codes of the previous and the next step are accepted, those further away are not', async () => {
  for (const [steps, accepted] of [
    [-2, false],
    [-1, true],
    [0, true],
    [1, true],
    [2, false],
  ] as const) {
    await using it = await setupEnrolled()
    it.running.clock.advance(300_000)
    const { browser, page } = await askForFactor(it.running)
    await browser.submit(page, { code: it.app.code(steps) })
    assert.equal(await isSignedIn(browser), accepted, String(steps))
  }
})

test('the code that enrolled the app is not accepted again', async () => {
  await using it = await setupEnrolled()
  const { browser, page } = await askForFactor(it.running)
  assert.equal((await browser.submit(page, { code: it.app.code() })).status, 401)
})

test('a code is accepted once, also with spaces inside and in another browser', async () => {
  await using it = await setupEnrolled()
  const first = await askForFactor(it.running)
  const second = await askForFactor(it.running)
  const code = it.app.nextCode()
  await first.browser.submit(first.page, { code: `${code.slice(0, 3)} ${code.slice(3)}` })
  assert.ok(await isSignedIn(first.browser))
  for (const typed of [code, `${code.slice(0, 3)} ${code.slice(3)}`, ` ${code}`])
    assert.equal((await second.browser.submit(second.page, { code: typed })).status, 401, typed)
  assert.ok(!(await isSignedIn(second.browser)))
})

test('a code older than the last accepted one is refused', async () => {
  await using it = await setupEnrolled()
  const first = await askForFactor(it.running)
  const second = await askForFactor(it.running)
  it.app.nextCode()
  await first.browser.submit(first.page, { code: it.app.code(1) })
  assert.ok(await isSignedIn(first.browser))
  assert.equal((await second.browser.submit(second.page, { code: it.app.code() })).status, 401)
})

test('a pending sign-in is void in another browser', async () => {
  await using it = await setupEnrolled()
  const { page } = await askForFactor(it.running)
  const thief = await askForFactor(it.running)
  const { pending = '', continuation = '' } = hiddenFields(page)
  const own = hiddenFields(thief.page)
  const code = it.app.nextCode()
  for (const stolen of [{ pending }, { pending, continuation }, { continuation }]) {
    const answer = await thief.browser.post('/login/factor', { ...own, ...stolen, code })
    assert.equal(answer.status, 400, answer.text)
  }
  assert.ok(!(await isSignedIn(thief.browser)))
})

test('a code of one user does not complete the sign-in of another', async () => {
  await using it = await setupEnrolled()
  const bob = await enrol(it.running, ['bob', 'battery staple'])
  const { browser, page } = await askForFactor(it.running)
  it.running.clock.advance(30_000)
  assert.equal((await browser.submit(page, { code: bob.app.code() })).status, 401)
  assert.equal((await browser.submit(page, { recovery_code: bob.codes[0] ?? '' })).status, 401)
})

test('a pending sign-in expires', async () => {
  await using it = await setupEnrolled()
  const { browser, page } = await askForFactor(it.running)
  it.running.clock.advance(10 * 60_000 + 1)
  assert.equal((await browser.submit(page, { code: it.app.code() })).status, 400)
})

test('a pending sign-in is void after the password changed', async () => {
  await using it = await setupEnrolled()
  const { browser, page } = await askForFactor(it.running)
  await it.running.identity.management.setPassword('alice', 'another long secret')
  assert.equal((await browser.submit(page, { code: it.app.nextCode() })).status, 400)
  assert.ok(!(await isSignedIn(browser)))
})

test('a pending sign-in is void after the app was replaced, and after it was removed', async () => {
  await using it = await setupEnrolled()
  const { browser: owner } = it
  const before = await askForFactor(it.running)
  const shown = await owner.get('/account/factors/app')
  const replaced = new TestApp(it.running, shown)
  assert.equal((await owner.submit(shown, { code: replaced.code() })).status, 303)
  assert.equal((await before.browser.submit(before.page, { code: it.app.nextCode() })).status, 400)
  const between = await askForFactor(it.running)
  const removed = await owner.post('/account/factors', {
    ...hiddenFields(await owner.get('/account/factors')),
    action: 'remove_app',
  })
  assert.equal(removed.status, 200, removed.text)
  assert.equal((await between.browser.submit(between.page, { code: replaced.code() })).status, 400)
})

test('a locked account cannot complete a pending sign-in', async () => {
  await using it = await setupEnrolled()
  const { browser, page } = await askForFactor(it.running)
  await it.running.identity.management.updateUser('alice', { locked: true })
  assert.equal((await browser.submit(page, { code: it.app.nextCode() })).status, 400)
})

test('a recovery code signs in once, and is written with or without hyphens', async () => {
  await using it = await setupEnrolled()
  const [code = '', other = ''] = it.codes
  const first = await askForFactor(it.running)
  await first.browser.submit(first.page, { recovery_code: code.toUpperCase() })
  assert.ok(await isSignedIn(first.browser))
  const second = await askForFactor(it.running)
  assert.equal((await second.browser.submit(second.page, { recovery_code: code })).status, 401)
  await second.browser.submit(second.page, { recovery_code: other.replaceAll('-', '') })
  assert.ok(await isSignedIn(second.browser))
})

test('a recovery code does not have the device remembered, whatever the form says', async () => {
  await using it = await setupEnrolled()
  const { browser, page } = await askForFactor(it.running)
  await browser.submit(page, { recovery_code: it.codes[0] ?? '', remember: 'yes' })
  assert.ok(await isSignedIn(browser))
  assert.ok(!browser.cookies.has('gatehouse_remembered'))
  await browser.submit(await browser.get('/end_session'), { decision: 'leave' })
  assert.ok(asksForFactor(await browser.signIn(await browser.get('/account'))))
})

test('a page that asks for the factor leads back to the client that began', async () => {
  await using it = await setupEnrolled()
  const browser = new TestBrowser(it.running)
  const { code_challenge } = pkce()
  const url = authorizeUrl({ client_id: 'web', response_type: 'code', scope: 'openid', code_challenge })
  const consent = await signInWithCode(browser, await browser.get(url), { code: it.app.nextCode() })
  assert.match(consent.text, /action="\/consent"/)
})
