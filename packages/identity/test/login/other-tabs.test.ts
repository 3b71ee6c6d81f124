import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import { tokenHash } from '@gatehouse/kit'
import { Authenticator } from '../support/factors/authenticator.ts'
import { asksForFactor, createPerson, enrol } from '../support/factors/factors.ts'
import { registerPasskey, requestOptions, sendCredential, signInByPasskey } from '../support/factors/passkeys.ts'
import { authorizeUrl, getTokens, hiddenFields, pkce, TestBrowser } from '../support/journey.ts'
import { isNotice, takeMails, waitingMails } from '../support/notices.ts'
import { callbackOf, connectionTo, setupWith, upstreamClient } from '../support/providers.ts'
import type { Running, TestResponse } from '../support/setup.ts'

/*
 * Pages that sign in, left open in one tab while the user signs in in another.
 */

let provider: OidcFake
let running: Running
before(async () => {
  provider = await startOidc({ client: upstreamClient, redirectUris: [callbackOf('acme')] })
  running = await setupWith([connectionTo(provider, { domains: ['acme.example'] })], {
    features: { loopbackCalls: true, passkeys: true, emailCode: true },
    mfa: 'optional',
    // Nothing is delivered: a test reads the outbox.
    background: false,
    notify: async () => undefined,
  })
})
after(async () => {
  await running.close()
  await provider.stop()
})

const alice = ['alice', 'correct horse'] as const

const request = (more: Record<string, string> = {}) => ({
  client_id: 'web',
  response_type: 'code',
  scope: 'openid',
  code_challenge: pkce().code_challenge,
  code_challenge_method: 'S256',
  ...more,
})

/** Signs in in another tab of the browser. */
async function signInElsewhere(browser: TestBrowser, [user, password]: readonly [string, string] = alice) {
  await browser.signIn(await browser.get('/account'), user, password)
  assert.match((await browser.get('/account')).text, new RegExp(`${user}@`))
}

/** A browser whose one tab shows the page for a request, while another signed in. */
async function openTabs(more?: Record<string, string>): Promise<{ browser: TestBrowser; page: TestResponse }> {
  const browser = new TestBrowser(running)
  const page = await browser.get(authorizeUrl(request(more)))
  await signInElsewhere(browser)
  return { browser, page }
}

const asksForConsent = (page: TestResponse) => page.status === 200 && page.text.includes('action="/consent"')

async function failures(): Promise<number> {
  const { rows } = await running.database.query(`SELECT 1 FROM identity.audit_event WHERE type = 'login_failed'`)
  return rows.length
}

test('a password form resumes its request once its user signed in in another tab', async () => {
  for (const username of ['alice', ' Alice@Example.com ', '']) {
    const before = await failures()
    const { browser, page } = await openTabs({ prompt: 'login' })
    const cookie = browser.cookies.get('gatehouse_session')
    const next = await browser.follow(await browser.submit(page, { username, password: 'not looked at' }))
    assert.ok(asksForConsent(next), next.text)
    assert.deepEqual([await failures(), browser.cookies.get('gatehouse_session')], [before, cookie])
  }
})

for (const [what, path, input] of [
  ['a code', '/login/code', { email: 'alice@example.com' }],
  ['the page that asks where to mail a code', '/login/code', {}],
  ['a mailed code', '/login/code/confirm', { challenge: 'x', code: '123456' }],
  ['a provider', '/login/providers', { connection: 'acme' }],
  ['the provider of a domain', '/login/organization', {}],
  ['a passkey', '/login/passkey', { credential: '{}' }],
] as const) {
  test(`the form for ${what} resumes its request too`, async () => {
    const { browser, page } = await openTabs()
    const { form_token = '', continuation = '' } = hiddenFields(page)
    const next = await browser.follow(await browser.post(path, { form_token, continuation, ...input }))
    assert.ok(asksForConsent(next), next.text)
  })
}

test('a passkey can still be selected, so that its form is sent', async () => {
  const owner = new TestBrowser(running)
  await signInElsewhere(owner)
  const authenticator = new Authenticator()
  await registerPasskey(owner, authenticator)
  const { browser, page } = await openTabs()
  const credential = authenticator.get(await requestOptions(browser, page))
  assert.ok(asksForConsent(await browser.follow(await sendCredential(browser, page, credential))))
})

test('a passkey of somebody else asks them to sign in, and does when sent again', async () => {
  const owner = new TestBrowser(running)
  await signInElsewhere(owner, ['bob', 'battery staple'])
  const authenticator = new Authenticator()
  await registerPasskey(owner, authenticator)
  const { browser, page } = await openTabs()
  const again = await signInByPasskey(browser, page, authenticator)
  assert.deepEqual([again.status, again.text.includes('action="/login"')], [409, true], again.text)
  assert.match((await browser.get('/account')).text, /alice@example\.com/)
  assert.ok(asksForConsent(await browser.follow(await signInByPasskey(browser, again, authenticator))))
  assert.match((await browser.get('/account')).text, /bob@example\.com/)
})

for (const path of ['/login/factor', '/login/enrol', '/login/passkey']) {
  test(`a form for ${path} resumes for its own user only`, async () => {
    const user = await createPerson(running)
    const { app } = await enrol(running, user)
    for (const [own, age] of [
      [true, 0],
      [false, 0],
      [false, 11 * 60_000],
    ] as const) {
      const browser = new TestBrowser(running)
      const page = await browser.signIn(await browser.get(authorizeUrl(request())), ...user)
      assert.ok(asksForFactor(page), page.text)
      if (own) {
        const other = await browser.signIn(await browser.get('/account'), ...user)
        await browser.submit(other, { code: app.nextCode() })
      } else await signInElsewhere(browser)
      running.clock.advance(age)
      const next = await browser.follow(await browser.post(path, { ...hiddenFields(page), code: '123456' }))
      running.clock.set(Date.now())
      if (own) assert.ok(asksForConsent(next), next.text)
      else assert.deepEqual([next.status, next.text.includes('action="/login"')], [409, true])
    }
  })
}

test('a form that names somebody else asks them to sign in, and does when sent again', async () => {
  for (const [path, input] of [
    ['/login', { username: 'bob', password: 'battery staple' }],
    ['/login/organization', { username: 'bob@example.com' }],
    ['/login/code', { email: 'bob@example.com' }],
  ] as const) {
    const { browser, page } = await openTabs()
    const { form_token = '', continuation = '' } = hiddenFields(page)
    const again = await browser.post(path, { form_token, continuation, ...input })
    assert.equal(again.status, 409)
    assert.match(again.text, /alice@example\.com is signed in in this browser/)
    assert.match(again.text, /name="username" value="bob/)
    assert.doesNotMatch(again.text, /battery/)
    assert.match((await browser.get('/account')).text, /alice@example\.com/)
    const consent = await browser.signIn(again, 'bob', 'battery staple')
    assert.ok(asksForConsent(consent))
    assert.match((await browser.get('/account')).text, /bob@example\.com/)
  }
})

test('the request is checked again: one about another user asks for that one', async () => {
  const { id_token = '' } = await getTokens(running, { user: ['bob', 'battery staple'], scope: 'openid' })
  const { browser, page } = await openTabs({ id_token_hint: id_token })
  const next = await browser.follow(await browser.submit(page, { username: 'alice', password: 'not looked at' }))
  assert.match(next.text, /action="\/login"/)
})

test('a page that waits for a code says nothing about the account of its address, however old', async () => {
  const [stranger] = await createPerson(running)
  for (const age of [0, 11 * 60_000])
    for (const [email, status] of [
      ['alice@example.com', 303],
      [`${stranger}@people.example`, 409],
      ['nobody@people.example', 409],
    ] as const) {
      const browser = new TestBrowser(running)
      const { form_token = '', continuation = '' } = hiddenFields(await browser.get(authorizeUrl(request())))
      const page = await browser.post('/login/code', { form_token, continuation, email })
      const { challenge = '' } = hiddenFields(page)
      while (!(await isWaiting(challenge)));
      await signInElsewhere(browser)
      running.clock.advance(age)
      const response = await browser.submit(page, { code: '123456' })
      running.clock.set(Date.now())
      assert.equal(response.status, status, `${email} ${age}`)
    }
})

/** Whether the code of a page is stored; the page does not wait for it. */
async function isWaiting(challenge: string): Promise<boolean> {
  const text = 'SELECT 1 FROM identity.sign_in_link WHERE challenge_hash = $1'
  return (await running.database.query(text, [tokenHash(challenge)])).rows.length > 0
}

test('the page behind a mailed link resumes for its own user only', async () => {
  for (const user of [alice, ['bob', 'battery staple']] as const) {
    const browser = new TestBrowser(running)
    const { form_token = '', continuation = '' } = hiddenFields(await browser.get(authorizeUrl(request())))
    await takeMails(running.database)
    await browser.post('/login/code', { form_token, continuation, email: 'alice@example.com' })
    const page = await browser.get(await mailedPath())
    assert.match(page.text, /action="\/login\/confirm"/)
    await signInElsewhere(browser, user)
    const next = await browser.follow(await browser.submit(page))
    if (user === alice) assert.ok(asksForConsent(next), next.text)
    else assert.deepEqual([next.status, next.text.includes('action="/login"')], [409, true])
  }
})

/** The path of the link in the next mail; the page does not wait for it. */
async function mailedPath(): Promise<string> {
  for (;;) {
    const mail = (await waitingMails(running.database)).find((one) => !isNotice(one))
    if (mail !== undefined) return String(mail.data.link).replace('http://localhost:8080', '')
  }
}

test('nothing but the own form of this browser resumes', async () => {
  const { browser, page } = await openTabs()
  const own = { ...hiddenFields(page), username: 'alice', password: 'x' }
  for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }])
    assert.equal((await browser.post('/login', own, headers)).status, 403)
  const theirs = hiddenFields(await new TestBrowser(running).get(authorizeUrl(request())))
  const { form_token = '', continuation = '' } = theirs
  for (const [form, status] of [
    [{ ...own, form_token }, 403],
    [{ ...own, form_token: '' }, 403],
    [{ ...own, continuation }, 400],
    [{ ...own, continuation: '' }, 400],
  ] as const) {
    const response = await browser.post('/login', form)
    assert.deepEqual([response.status, response.headers.location], [status, undefined])
  }
  assert.equal((await browser.post('/account/password', own)).status, 403, 'no form of an account')
  running.clock.advance(2 * 3600_000)
  assert.equal((await browser.post('/login', own)).status, 400, 'too old')
  running.clock.set(Date.now())
})

test('a form from within a session that ended is void, whoever is signed in now', async () => {
  const browser = new TestBrowser(running)
  await signInElsewhere(browser)
  const page = await browser.get(authorizeUrl(request({ prompt: 'login' })))
  assert.match(page.text, /action="\/login"/)
  await browser.submit(await browser.get('/end_session'), { decision: 'leave' })
  await signInElsewhere(browser, ['bob', 'battery staple'])
  assert.equal((await browser.submit(page, { username: 'bob', password: 'battery staple' })).status, 403)
})
