import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ManualClock, manualClock } from '@gatehouse/kit'
import { postgresDatabase, sharedPostgres, testWith } from '@gatehouse/testing'
import { decodeJwt } from 'jose'
import type { NotifyRequest } from '../../src/index.ts'
import { parseCode } from '../../src/model/factors/mailed-code.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { attemptLimits } from '../support/attempt-limits.ts'
import { authorizeUrl, clients, pkce, redirectParameters, TestBrowser, users, webSecret } from '../support/journey.ts'
import { isNotice, takeMails, waitingMails } from '../support/notices.ts'
import { type Running, setup, type TestResponse } from '../support/setup.ts'

const options = {
  declared: {
    clients,
    users: [
      ...users,
      { id: 'boss', password: 'four candles please', email: 'boss@example.com', roles: ['gatehouse-owner'] },
      { id: 'new', password: 'fork handles please', email: 'new@example.com' },
      { id: 'locked', password: 'fork handles please', email: 'locked@example.com' },
    ],
  },
  features: { emailCode: true },
  // Nothing is delivered: the tests read the outbox.
  background: false,
  notify: async () => {},
}

let running: Running
let clock: ManualClock
before(async () => {
  clock = manualClock()
  running = await setup({ ...options, clock })
  await running.identity.management.updateUser('locked', { locked: true })
})
after(() => running.close())

/** Requests a code in a browser; returns the page that waits for it. */
async function request(email: string, browser: TestBrowser, start = '/account'): Promise<TestResponse> {
  const login = await browser.get(start)
  const ask = await browser.post('/login/code', codeForm(login))
  assert.match(ask.text, /Enter your email address, and we will send you a code/)
  return browser.submit(ask, { email })
}

/** The fields of the second form of the login page. */
function codeForm(page: TestResponse): Record<string, string> {
  const form = /<form method="post" action="\/login\/code">.*?<\/form>/s.exec(page.text)?.[0] ?? ''
  const fields = form.matchAll(/name="([^"]+)" value="([^"]*)"/g)
  return Object.fromEntries([...fields].map(([, name = '', value = '']) => [name, value]))
}

/** The next code or link that was mailed; the page does not wait for it. */
async function nextMail(at: Running = running): Promise<NotifyRequest> {
  for (;;) {
    const [mail] = (await waitingMails(at.database)).filter((one) => !isNotice(one))
    if (mail === undefined) continue
    await takeMails(at.database)
    return mail
  }
}

const codeOf = ({ data }: NotifyRequest) => String(data.code)
const otherThan = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0')
const isSignedIn = (browser: TestBrowser) => browser.cookies.has('gatehouse_session')

test('a user signs in with a mailed code, and the tokens say how', async () => {
  const browser = new TestBrowser(running)
  const { code_verifier, code_challenge } = pkce()
  const challenge = { code_challenge, code_challenge_method: 'S256' }
  const start = authorizeUrl({ client_id: 'web', response_type: 'code', scope: 'openid', ...challenge })
  const page = await request('Alice@Example.com', browser, start)
  const mail = await nextMail()
  assert.deepEqual([mail.event, mail.email, mail.data.minutes], ['sign_in_code', 'alice@example.com', 10])
  assert.match(codeOf(mail), /^\d{6}$/)
  const consent = await browser.follow(
    await browser.submit(page, { code: ` ${codeOf(mail).slice(0, 3)} ${codeOf(mail).slice(3)}` }),
  )
  const { code = '' } = redirectParameters(await browser.submit(consent, { decision: 'allow' }))
  const { body } = await running.post('/token', {
    grant_type: 'authorization_code',
    code,
    code_verifier,
    ...webSecret,
  })
  assert.deepEqual(decodeJwt(String(body.id_token)).amr, ['email'])
})

test('the mailed link does the same as the code, and either uses up both', async () => {
  for (const [first, second] of [
    ['code', 'link'],
    ['link', 'code'],
  ] as const) {
    const browser = new TestBrowser(running)
    const page = await request('alice@example.com', browser)
    const mail = await nextMail()
    const path = String(mail.data.link).replace('http://localhost:8080', '')
    assert.equal((await new TestBrowser(running).get(path)).status, 400, 'in another browser')
    const link = await browser.get(path)
    const use = { code: () => browser.submit(page, { code: codeOf(mail) }), link: () => browser.submit(link) }
    assert.equal((await use[first]()).status, 303)
    assert.ok(isSignedIn(browser))
    // Signed out again, so that its form is valid and only what it proves is not.
    browser.cookies.delete('gatehouse_session')
    assert.equal((await use[second]()).status, 400)
    assert.ok(!isSignedIn(browser))
  }
})

test('once codes are switched off theirs are void, and a link that confirms a password is not', async (t) => {
  const off = await setup({ ...options, clock, features: {} }, running.database)
  t.after(() => off.close())
  const browser = new TestBrowser(running)
  const page = await request('alice@example.com', browser)
  const mail = await nextMail()
  const path = String(mail.data.link).replace('http://localhost:8080', '')
  const same = new TestBrowser(off)
  for (const [name, value] of browser.cookies) same.cookies.set(name, value)
  assert.equal((await same.submit(page, { code: codeOf(mail) })).status, 404)
  assert.equal((await same.get(path)).status, 400)
  assert.equal((await same.submit(await browser.get(path))).status, 400)
  assert.ok(!isSignedIn(same))
  await running.database.query("UPDATE identity.sign_in_link SET amr = '{pwd}'")
  assert.equal((await same.submit(await same.get(path))).status, 303)
  assert.ok(isSignedIn(same))
})

test('a code is of no use in another browser', async () => {
  const browser = new TestBrowser(running)
  const page = await request('alice@example.com', browser)
  const mail = await nextMail()
  const other = new TestBrowser(running)
  const own = await request('nobody@example.com', other)
  const foreign = /name="challenge" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  assert.equal((await other.submit(own, { code: codeOf(mail) })).status, 400)
  assert.equal((await other.submit(own, { challenge: foreign, code: codeOf(mail) })).status, 400)
  assert.ok(!isSignedIn(other))
  assert.equal((await browser.submit(page, { code: codeOf(mail) })).status, 303)
})

test('after five wrong codes the right one is refused', async () => {
  const browser = new TestBrowser(running)
  const page = await request('alice@example.com', browser)
  const code = codeOf(await nextMail())
  for (let i = 0; i < 5; i++)
    assert.match((await browser.submit(page, { code: otherThan(code) })).text, /This code is incorrect/)
  const late = await browser.submit(page, { code })
  assert.equal(late.status, 400)
  assert.match(late.text, /Start again/)
  assert.ok(!isSignedIn(browser))
})

test('a code expires after ten minutes, and with the credentials of the account', async () => {
  const browser = new TestBrowser(running)
  const page = await request('alice@example.com', browser)
  const code = codeOf(await nextMail())
  clock.advance(10 * 60_000)
  assert.equal((await browser.submit(page, { code })).status, 400)
  const again = await request('alice@example.com', browser)
  const next = codeOf(await nextMail())
  await running.identity.management.setPassword('alice', 'correct horse')
  assert.equal((await browser.submit(again, { code: next })).status, 400)
  assert.ok(!isSignedIn(browser))
})

test('a code from before its user got a management role is void, with its link', async () => {
  const { management } = running.identity
  const password = 'correct horse'
  await management.createUser({ id: 'climber', email: 'climber@example.com', email_verified: true, password })
  const browser = new TestBrowser(running)
  const page = await request('climber@example.com', browser)
  const mail = await nextMail()
  const path = String(mail.data.link).replace('http://localhost:8080', '')
  const opened = await browser.get(path)
  await management.changeRole('climber', { role: 'gatehouse-auditor', granted: true })
  const wrong = await browser.submit(page, { code: codeOf(mail) })
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /This code is incorrect/)
  assert.deepEqual([(await browser.get(path)).status, (await browser.submit(opened)).status], [400, 400])
  assert.ok(!isSignedIn(browser))
})

test('the code and the link that confirm the correct password of an administrator are valid', async () => {
  const limited = await setup({ ...options, clock, ...attemptLimits({ 'login-account': 1 }, clock) })
  const attempt = async (password: string) => {
    const browser = new TestBrowser(limited)
    return { browser, page: await browser.submit(await browser.get('/account'), { username: 'boss', password }) }
  }
  await attempt('wrong')
  await attempt('wrong')
  const pending = async () => ({ ...(await attempt('four candles please')), mail: await nextMail(limited) })
  const [byCode, byLink] = [await pending(), await pending()]
  const link = await byLink.browser.get(String(byLink.mail.data.link).replace('http://localhost:8080', ''))
  assert.equal((await byCode.browser.submit(byCode.page, { code: codeOf(byCode.mail) })).status, 303)
  assert.equal((await byLink.browser.submit(link)).status, 303)
  assert.ok(isSignedIn(byCode.browser) && isSignedIn(byLink.browser))
  await limited.close()
})

test('an address of nobody, or that gets no code, gets the same pages', async () => {
  const hidden = (text: string) => text.replaceAll(/(value)="[^"]*"/g, '$1')
  const walk = async (email: string) => {
    const browser = new TestBrowser(running)
    const page = await request(email, browser)
    const pages = [page]
    while (pages.length < 7) pages.push(await browser.submit(page, { code: '123456' }))
    assert.ok(!isSignedIn(browser))
    return pages.map(({ status, text }) => [status, hidden(text).replace(/<code>.*?<\/code>/, '')])
  }
  const known = await walk('alice@example.com')
  assert.equal((await nextMail()).event, 'sign_in_code')
  assert.deepEqual(
    known.map(([status]) => status),
    [200, 400, 400, 400, 400, 400, 400],
  )
  for (const email of ['nobody@example.com', 'locked@example.com', 'boss@example.com', 'new@example.com'])
    assert.deepEqual(await walk(email), known, email)
  assert.deepEqual(await waitingMails(running.database), [])
})

test('the page does not wait for the lookup of what to mail', async () => {
  const store = postgresIdentityStore(running.database)
  const { signInLinks } = store
  const stuck = Object.assign(Object.create(signInLinks) as typeof signInLinks, { put: () => new Promise(() => {}) })
  const slow = await setup({ ...options, clock, store: { ...store, signInLinks: stuck } }, running.database)
  assert.match((await request('alice@example.com', new TestBrowser(slow))).text, /Enter the code/)
  await slow.close()
})

test('requests are limited by account and address, with the same answer for unknown addresses', async () => {
  const limited = await setup({ ...options, clock, ...attemptLimits({ 'email-code-account': 2 }, clock) })
  for (const email of ['alice@example.com', 'nobody@example.com']) {
    const statuses = []
    for (let i = 0; i < 3; i++)
      statuses.push((await request(email, new TestBrowser(limited, {}, `198.51.100.${i}`))).status)
    assert.deepEqual(statuses, [200, 200, 429], email)
  }
  await limited.close()
})

test('attempts at codes are limited by account, but not those from a known browser', async () => {
  const limited = await setup({ ...options, clock, ...attemptLimits({ 'email-code-entry-account': 3 }, clock) })
  const owner = new TestBrowser(limited)
  await owner.signIn(await owner.get('/account'))
  owner.cookies.delete('gatehouse_session')
  await takeMails(limited.database)
  const statuses = []
  for (let i = 0; i < 2; i++) {
    const attacker = new TestBrowser(limited, {}, `198.51.100.${i}`)
    const page = await request('alice@example.com', attacker)
    const code = otherThan(codeOf(await nextMail(limited)))
    for (let j = 0; j < 2; j++) statuses.push((await attacker.submit(page, { code })).status)
  }
  assert.deepEqual(statuses, [400, 400, 400, 429])
  const page = await request('alice@example.com', owner)
  const right = codeOf(await nextMail(limited))
  assert.equal((await owner.submit(page, { code: right })).status, 303)
  await limited.close()
})

test('an unknown device of an attacked account confirms its password with a code', async () => {
  const limited = await setup({ ...options, clock, ...attemptLimits({ 'login-account': 2 }, clock) })
  const attempt = async (password: string) => {
    const browser = new TestBrowser(limited)
    return { browser, page: await browser.submit(await browser.get('/account'), { username: 'alice', password }) }
  }
  for (let i = 0; i < 3; i++) await attempt('wrong')
  const wrong = await attempt('wrong')
  const right = await attempt('correct horse')
  const hidden = (text: string) => text.replaceAll(/(value)="[^"]*"/g, '$1')
  assert.equal(hidden(right.page.text), hidden(wrong.page.text))
  assert.match((await wrong.browser.submit(wrong.page, { code: '123456' })).text, /This code is incorrect/)
  await wrong.browser.signIn(await wrong.browser.get('/account'), 'new', 'fork handles please')
  assert.equal((await wrong.browser.submit(wrong.page, { code: '123456' })).status, 409, 'a page about somebody else')
  const mail = await nextMail(limited)
  assert.equal(mail.event, 'confirm_sign_in')
  assert.equal((await right.browser.submit(right.page, { code: codeOf(mail) })).status, 303)
  assert.ok(isSignedIn(right.browser))
  await limited.close()
})

test('without the feature nothing of it is offered', async () => {
  const off = await setup({ ...options, features: {} })
  const browser = new TestBrowser(off)
  const page = await browser.get('/account')
  assert.doesNotMatch(page.text, /login\/code/)
  assert.equal((await browser.submit({ ...page, text: page.text.replace('"/login"', '"/login/code"') })).status, 404)
  await off.close()
  await assert.rejects(setup({ features: { emailCode: true } }), /features.email_code need mail/)
})

test('a code is six digits, spaces and hyphens aside', () => {
  for (const [text, code] of [
    ['123456', '123456'],
    [' 123-456 ', '123456'],
    ['12345', undefined],
    ['1234567', undefined],
    ['１２３４５６', undefined],
    ['12345６', undefined],
    ['', undefined],
  ] as const)
    assert.equal(parseCode(text), code, text)
})

testWith('postgresql', 'of 20 uses of a code at once one signs in', async () => {
  const server = await sharedPostgres()
  const database = await postgresDatabase(server, 20)
  const many = await setup(options, database)
  try {
    const browser = new TestBrowser(many)
    const page = await request('alice@example.com', browser)
    const code = codeOf(await nextMail(many))
    const copies = Array.from({ length: 20 }, () => {
      const copy = new TestBrowser(many)
      for (const [name, value] of browser.cookies) copy.cookies.set(name, value)
      return copy
    })
    const responses = await Promise.all(copies.map((copy) => copy.submit(page, { code })))
    assert.equal(responses.filter(({ status }) => status === 303).length, 1)
    const { rows } = await database.query('SELECT 1 FROM identity.session')
    assert.equal(rows.length, 1)
  } finally {
    await many.close()
    await database.close()
    await server.stop()
  }
})
