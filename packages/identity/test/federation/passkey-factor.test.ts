import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import type { Query } from '@gatehouse/kit'
import { Authenticator } from '../support/factors/authenticator.ts'
import { asksForFactor, isSignedIn } from '../support/factors/factors.ts'
import { passkeyFields, registerPasskey, requestOptions, signInByPasskey } from '../support/factors/passkeys.ts'
import { TestBrowser } from '../support/journey.ts'
import {
  addMember,
  callbackOf,
  connectionTo,
  proveDomain,
  requireSecondFactor,
  setupWith,
  signInWithOrganization,
  upstreamClient,
} from '../support/providers.ts'
import type { Running, TestResponse } from '../support/setup.ts'

/*
 * A passkey as the second factor, after the provider of an organization that requires both.
 */

const password = 'a long and quiet password'
const domain = 'acme.example'
const guest = { id: 'guest', password, email: 'guest@example.com', email_verified: true }

let provider: OidcFake
let running: Running
before(async () => {
  provider = await startOidc({ client: upstreamClient, redirectUris: [callbackOf('acme')] })
  running = await setupWith([connectionTo(provider, { organization: 'acme', required: true })], {
    features: { loopbackCalls: true, passkeys: true },
    declared: { organizations: [{ id: 'acme' }], users: [guest] },
  })
  await proveDomain(running, 'acme', domain)
  await requireSecondFactor(running, 'acme')
})
after(async () => {
  await running.close()
  await provider.stop()
})
beforeEach(() => {
  running.clock.set(Date.now())
  provider.signedInAgo = 0
  return require(true)
})

const require = (required: boolean) => running.identity.management.updateConnection('acme', { required })

let made = 0

/** A user of the organization with a passkey, and the browser in which it was added; not a member. */
async function createPerson() {
  const id = `person-${++made}`
  const email = `${id}@${domain}`
  await running.identity.management.createUser({ id, password, email, email_verified: true })
  const browser = new TestBrowser(running)
  provider.user = { sub: id, email, email_verified: true }
  await signInWithOrganization(browser, email)
  const authenticator = new Authenticator()
  assert.equal((await registerPasskey(browser, authenticator)).headers.location, '/account/passkeys')
  return { id, email, authenticator, browser }
}

type Person = Awaited<ReturnType<typeof createPerson>>

/** A member, for whom the organization requires two factors, in a browser that proved the first at the provider. */
async function proveFirst(person?: Person) {
  const member = person ?? (await createPerson())
  await addMember(running, 'acme', member.id)
  const browser = new TestBrowser(running)
  provider.user = { sub: member.id, email: member.email, email_verified: true }
  const page = await signInWithOrganization(browser, member.email)
  assert.ok(asksForFactor(page), page.text)
  return { ...member, browser, page }
}

/** Sends the fields with a new credential, from a browser that shows the page. */
async function send(
  { browser, page, authenticator }: Pick<Awaited<ReturnType<typeof proveFirst>>, 'browser' | 'page' | 'authenticator'>,
  fields: Record<string, string> = {},
): Promise<TestResponse> {
  const credential = authenticator.get(await requestOptions(browser, page))
  return browser.post('/login/passkey', { ...passkeyFields(page), ...fields, credential })
}

async function sessionsOf(id: string) {
  const { rows } = await running.database.query<{ id: string; amr: string[]; auth_time: number; through: string }>(
    `SELECT id, amr, auth_time, (SELECT count(*) FROM identity.provider_session WHERE session_id = s.id) AS through
     FROM identity.session s WHERE user_id = $1 ORDER BY created_at, auth_time`,
    [id],
  )
  return rows.map(({ through, ...session }) => ({ ...session, through: Number(through) }))
}

const logOutThere = () => running.post('/login/providers/acme/logout', { logout_token: provider.createLogoutToken() })

async function assertRefused(browser: TestBrowser, response: TestResponse): Promise<void> {
  assert.equal(response.status, 401, response.text)
  assert.equal(await isSignedIn(browser), false)
}

for (const required of [true, false]) {
  test(`a passkey completes a sign-in with the provider that is ${required ? '' : 'not '}required`, async () => {
    await require(required)
    const { id, email, authenticator, browser, page } = await proveFirst()
    const account = await browser.follow(await signInByPasskey(browser, page, authenticator))
    assert.match(account.text, new RegExp(email))
    const { amr, through } = (await sessionsOf(id)).at(-1) ?? assert.fail()
    assert.deepEqual([amr, through], [['fed', 'hwk', 'user', 'mfa'], 1])
    assert.deepEqual([(await logOutThere()).status, await isSignedIn(browser)], [200, false])
  })
}

for (const required of [true, false]) {
  test(`its time is ${required ? 'the provider’s' : 'its own'}, required: ${required}`, async () => {
    await require(required)
    const person = await createPerson()
    provider.signedInAgo = 3_600
    const { id, authenticator, browser, page } = await proveFirst(person)
    await browser.follow(await signInByPasskey(browser, page, authenticator))
    const isRecent = ({ auth_time }: { auth_time: number }) => auth_time > running.clock.now() - 60_000
    assert.deepEqual((await sessionsOf(id)).map(isRecent).sort(), required ? [false, true] : [true, true])
  })
}

test('a passkey raises a session through the required provider', async () => {
  const { id, email, authenticator } = await createPerson()
  const browser = new TestBrowser(running)
  await signInWithOrganization(browser, email)
  const before = (await sessionsOf(id)).at(-1) ?? assert.fail()
  const page = await browser.get('/account/passkeys/new')
  assert.ok(asksForFactor(page), page.text)
  const next = await browser.follow(await signInByPasskey(browser, page, authenticator))
  assert.match(next.text, /data-passkey="create"/)
  assert.deepEqual((await sessionsOf(id)).at(-1), { ...before, amr: ['fed', 'hwk', 'user', 'mfa'] })
})

test('a sign-in of one user is not completed by the passkey of another', async () => {
  const ann = await createPerson()
  const { browser, page } = await proveFirst()
  await assertRefused(browser, await send({ browser, page, authenticator: ann.authenticator }))
  assert.equal((await sessionsOf(ann.id)).length, 1)
})

test('a user of another domain signs in by the passkey alone, whoever was asked for the factor', async () => {
  const owner = new TestBrowser(running)
  await owner.signIn(await owner.get('/account'), guest.id, password)
  const authenticator = new Authenticator()
  await registerPasskey(owner, authenticator)
  const { browser, page } = await proveFirst()
  assert.match((await browser.follow(await send({ browser, page, authenticator }))).text, /guest@example\.com/)
  const { amr, through } = (await sessionsOf(guest.id)).at(-1) ?? assert.fail()
  assert.deepEqual([amr, through], [['hwk', 'user', 'mfa'], 0])
})

test('a passkey completes nothing of another browser, nor what no server sealed', async () => {
  const { authenticator, page } = await proveFirst()
  const { pending = '' } = passkeyFields(page)
  for (const fields of [{ pending }, { pending: `${pending.slice(0, -8)}AAAAAAAA` }, { pending: '' }, {}]) {
    const browser = new TestBrowser(running)
    await assertRefused(browser, await send({ browser, page: await browser.get('/account'), authenticator }, fields))
  }
})

for (const required of [true, false]) {
  test(`an old page completes nothing, with the provider ${required ? '' : 'not '}required`, async () => {
    await require(required)
    const { id, authenticator, browser, page } = await proveFirst()
    running.clock.advance(10 * 60_000 + 1)
    const response = await send({ browser, page, authenticator })
    if (required) return assertRefused(browser, response)
    const { amr, through } = (await sessionsOf(id)).at(-1) ?? assert.fail()
    assert.deepEqual([response.status, amr, through], [303, ['hwk', 'user', 'mfa'], 0])
  })
}

test('what was proven before the credentials changed is not completed', async () => {
  const { id, authenticator, browser, page } = await proveFirst()
  await running.identity.management.setPassword(id, 'another long and quiet password')
  await assertRefused(browser, await send({ browser, page, authenticator }))
})

test('the same response completes one sign-in', async () => {
  const { id, authenticator, browser, page } = await proveFirst()
  const credential = authenticator.get(await requestOptions(browser, page))
  const again = { ...passkeyFields(page), credential }
  const answers = await Promise.all([1, 2, 3].map(() => browser.post('/login/passkey', again)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 401, 401])
  assert.equal((await sessionsOf(id)).length, 2)
})

test('a sign-in by a way that is refused now is not completed', async () => {
  await require(false)
  const { id, authenticator } = await createPerson()
  await addMember(running, 'acme', id)
  const browser = new TestBrowser(running)
  const page = await browser.signIn(await browser.get('/account'), id, password)
  assert.ok(asksForFactor(page), page.text)
  await require(true)
  await assertRefused(browser, await send({ browser, page, authenticator }))
})

test('a page that raises a session completes nothing once that has ended', async () => {
  const { email, authenticator } = await createPerson()
  const browser = new TestBrowser(running)
  await signInWithOrganization(browser, email)
  const { pending = '' } = passkeyFields(await browser.get('/account/passkeys/new'))
  await browser.submit(await browser.get('/end_session'), { decision: 'leave' })
  const login = await browser.get('/account')
  await assertRefused(browser, await send({ browser, page: login, authenticator }, { pending }))
})

test('a session that ends while it is raised stays ended', async () => {
  const { id, email, authenticator } = await createPerson()
  const browser = new TestBrowser(running)
  await signInWithOrganization(browser, email)
  const page = await browser.get('/account/passkeys/new')
  const query = running.database.query.bind(running.database)
  let ended: Promise<TestResponse> | undefined
  running.database.query = async <Row extends object>(text: string | Query, values?: readonly unknown[]) => {
    if (ended === undefined && String(text).includes('UPDATE identity.session n SET secret_hash')) {
      ended = logOutThere()
      await ended
    }
    return query<Row>(text, values)
  }
  const response = await send({ browser, page, authenticator }).finally(() => {
    running.database.query = query
  })
  assert.deepEqual([(await ended)?.status, response.status], [200, 400], response.text)
  assert.equal(await isSignedIn(browser), false)
  assert.deepEqual(await sessionsOf(id), [])
})
