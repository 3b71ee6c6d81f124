import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { NotifyRequest } from '../../src/index.ts'
import { Authenticator, type Deviation } from '../support/factors/authenticator.ts'
import {
  creationOptions,
  passkeyIds,
  registerPasskey,
  sendCredential,
  signInByPasskey,
} from '../support/factors/passkeys.ts'
import { clients, hiddenFields, TestBrowser, users } from '../support/journey.ts'
import { isNotice, takeMails, waitingMails } from '../support/notices.ts'
import { issuer, type Running, setup, type TestResponse } from '../support/setup.ts'

const options = { declared: { clients, users }, background: false, notify: async () => {} } as const

let running: Running
before(async () => {
  running = await setup({ ...options, features: { registration: true } })
})
after(() => running.close())

let made = 0

/** Requests an account for an address, in a browser; returns the path of the mailed link. */
async function request(browser: TestBrowser, email = `person-${++made}@new.example`) {
  await browser.submit(await browser.get('/register'), { email })
  return { email, path: await nextLink() }
}

/** The page does not wait for the mail. */
async function nextLink(): Promise<string> {
  const isLink = (mail: NotifyRequest) => !isNotice(mail)
  for (;;) {
    const [mail] = (await waitingMails(running.database)).filter(isLink)
    if (mail === undefined) continue
    await takeMails(running.database)
    return String(mail.data.link).replace(issuer, '')
  }
}

/** What the script of the page sends. */
function confirm(browser: TestBrowser, page: TestResponse, credential: string, name = 'New Person') {
  return browser.post('/register/confirm', { ...hiddenFields(page), name, credential })
}

const accountOf = async (email: string) =>
  (
    await running.database.query<{ id: string; password_hash: string | null; email_verified: boolean; claims: object }>(
      'SELECT id, password_hash, email_verified, claims FROM identity.account WHERE email = $1',
      [email],
    )
  ).rows[0]

const failure = (page: TestResponse) => /role="alert">([^<]+)</.exec(page.text)?.[1]
const wrong = 'The passkey could not be added. Please try again.'

test('an account is created with a passkey alone, for a verified address, and signs in by it', async () => {
  const browser = new TestBrowser(running, { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Gecko Firefox/150.0' })
  const { email, path } = await request(browser)
  const page = await browser.get(path)
  const authenticator = new Authenticator()
  const offered = creationOptions(page) as { user: { id: string; name: string } }
  assert.equal(offered.user.name, email)
  assert.equal(Buffer.from(offered.user.id, 'base64url').length, 32)
  const done = await confirm(browser, page, authenticator.create(offered), 'Pat New')
  assert.match(done.text, /You can now sign in with your passkey/)
  assert.ok(!browser.cookies.has('gatehouse_session'), 'nothing but a sign-in starts a session')
  const { id, ...account } = (await accountOf(email)) ?? assert.fail()
  assert.deepEqual(account, { password_hash: null, email_verified: true, claims: { name: 'Pat New' } })
  const login = await browser.get('/account')
  assert.equal((await browser.submit(login, { username: email, password: '' })).status, 401)
  const signedIn = await browser.follow(await signInByPasskey(browser, login, authenticator))
  assert.match(signedIn.text, /Your account/)
  assert.match((await browser.get('/account/passkeys')).text, /<strong>Firefox · Linux<\/strong>/)
  const second = new Authenticator({ synced: true })
  assert.equal((await registerPasskey(browser, second)).status, 303, 'the handle stays')
  const other = new TestBrowser(running)
  assert.equal((await signInByPasskey(other, await other.get('/account'), second)).status, 303)
  const { rows } = await running.database.query(
    "SELECT details ? 'passkey' AS named FROM identity.audit_event WHERE type = 'user_registered' AND subject = $1",
    [id],
  )
  assert.deepEqual(rows, [{ named: true }])
})

test('a cancelled ceremony leaves nothing, and the link stays good for a password', async () => {
  const browser = new TestBrowser(running)
  const { email, path } = await request(browser)
  const page = await browser.get(path)
  for (const credential of ['{}', 'no json']) {
    const again = await confirm(browser, page, credential)
    assert.deepEqual([again.status, failure(again)], [400, wrong])
    assert.match(again.text, /value="New Person"/)
  }
  assert.equal(await accountOf(email), undefined)
  assert.match((await browser.submit(page, { new_password: 'tea for two' })).text, /account is ready/)
  const { password_hash: hash } = (await accountOf(email)) ?? assert.fail()
  assert.ok(hash)
})

test('the challenge is for one registration in one browser, and for one response', async () => {
  const browser = new TestBrowser(running)
  const { email, path } = await request(browser)
  const page = await browser.get(path)
  const authenticator = new Authenticator()
  const credential = authenticator.create(creationOptions(page))
  const thief = new TestBrowser(running)
  assert.equal(failure(await confirm(thief, await thief.get(path), credential)), wrong)
  const second = await request(browser)
  assert.equal(failure(await confirm(browser, await browser.get(second.path), credential)), wrong)
  // Neither used up the challenge of the first; a rejected response does.
  const bad = new Authenticator().create(creationOptions(page), { isUserVerified: false })
  assert.equal(failure(await confirm(browser, page, bad)), wrong)
  assert.equal(failure(await confirm(browser, page, credential)), wrong)
  assert.deepEqual([await accountOf(email), await accountOf(second.email)], [undefined, undefined])
  const fresh = await browser.get(path)
  assert.match((await confirm(browser, fresh, authenticator.create(creationOptions(fresh)))).text, /is ready/)
  assert.equal((await confirm(browser, fresh, authenticator.create(creationOptions(fresh)))).status, 400)
  assert.equal((await browser.get(path)).status, 400, 'the link was used')
})

test('a challenge for an account is none for a registration, nor the other way round', async () => {
  const alice = new TestBrowser(running)
  await alice.signIn(await alice.get('/account'))
  const { path } = await request(alice)
  const own = await alice.get('/account/passkeys/new')
  const foreign = await alice.get(path)
  const wrongWay = new Authenticator().create(creationOptions(own))
  assert.equal(failure(await confirm(alice, foreign, wrongWay)), wrong)
  const otherWay = new Authenticator().create(creationOptions(foreign))
  assert.equal(failure(await alice.submit(own, { credential: otherWay })), wrong)
  const login = new TestBrowser(running)
  const signIn = await sendCredential(login, await login.get('/account'), otherWay)
  assert.equal(signIn.status, 401)
  assert.deepEqual(await passkeyIds(alice), [])
})

const deviations: Readonly<Record<string, Deviation>> = {
  'no user verification': { isUserVerified: false },
  'another origin': { origin: 'https://evil.example' },
  'another relying party': { rpId: 'evil.example' },
  'a page embedded in another origin': { crossOrigin: true },
  'a credential that is not discoverable': { credProps: { rk: false } },
}

test('a wrong response creates no account, whatever is wrong', async () => {
  const browser = new TestBrowser(running)
  const { email, path } = await request(browser)
  for (const [name, deviation] of Object.entries(deviations)) {
    const page = await browser.get(path)
    const credential = new Authenticator().create(creationOptions(page), deviation)
    assert.equal(failure(await confirm(browser, page, credential)), wrong, name)
  }
  assert.equal(await accountOf(email), undefined)
})

test('a credential of another account creates none, and the link stays good', async () => {
  const alice = new TestBrowser(running)
  await alice.signIn(await alice.get('/account'), 'bob', 'battery staple')
  const authenticator = new Authenticator()
  await registerPasskey(alice, authenticator)
  const credentialId = authenticator.id
  const browser = new TestBrowser(running)
  const { email, path } = await request(browser)
  const page = await browser.get(path)
  const copied = await confirm(browser, page, new Authenticator().create(creationOptions(page), { credentialId }))
  assert.equal(failure(copied), wrong)
  assert.equal(await accountOf(email), undefined)
  assert.equal((await browser.get(path)).status, 200)
})

test('the form needs its token, and a link that is unknown, used or replaced leads nowhere', async () => {
  const browser = new TestBrowser(running)
  const { email, path } = await request(browser)
  const page = await browser.get(path)
  const credential = new Authenticator().create(creationOptions(page))
  const { token = '' } = hiddenFields(page)
  assert.equal((await browser.post('/register/confirm', { token, credential })).status, 403)
  await request(browser, email)
  assert.equal((await confirm(browser, page, credential)).status, 400, 'a later link replaced it')
  assert.equal((await browser.get(`/register/confirm?token=${'A'.repeat(43)}`)).status, 400)
  assert.equal(await accountOf(email), undefined)
})

test('an address with an account is offered nothing, and its page is that of any other', async () => {
  const browser = new TestBrowser(running)
  const form = await browser.get('/register')
  const known = await browser.submit(form, { email: 'alice@example.com' })
  const unknown = await browser.submit(form, { email: 'nobody@new.example' })
  assert.equal(known.text.replaceAll('alice@example.com', ''), unknown.text.replaceAll('nobody@new.example', ''))
  await nextLink()
})

test('where passkeys are off, or past the limit of challenges, a password is asked for alone', async (t) => {
  const browser = new TestBrowser(running)
  const { email, path } = await request(browser)
  const page = await browser.get(path)
  const credential = new Authenticator().create(creationOptions(page))
  const off = await setup({ ...options, features: { registration: true, passkeys: false } }, running.database)
  t.after(() => off.close())
  const limit = async (name: string) => ({ allowed: name !== 'passkey-challenge' })
  const limited = await setup({ ...options, features: { registration: true }, limit }, running.database)
  t.after(() => limited.close())
  for (const at of [off, limited]) {
    const same = new TestBrowser(at)
    for (const [name, value] of browser.cookies) same.cookies.set(name, value)
    const plain = await same.get(path)
    assert.doesNotMatch(plain.text, /data-passkey|passkeys\.js/)
    assert.match(plain.text, /name="new_password"/)
    if (at === off) assert.equal((await confirm(same, page, credential)).status, 400)
  }
  assert.equal(await accountOf(email), undefined)
})
