import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Misbehaviour, type OidcFake, startOidc } from '@gatehouse/fakes'
import { hiddenFields, TestBrowser } from '../support/journey.ts'
import {
  assertRefused,
  callbackOf,
  choose,
  comeBack,
  connectionTo,
  setupWith,
  signInAt,
  upstreamClient,
  usersByEmail,
} from '../support/providers.ts'
import type { Running } from '../support/setup.ts'

let acme: OidcFake
let other: OidcFake
let running: Running

before(async () => {
  acme = await startOidc({ client: upstreamClient, redirectUris: [callbackOf('acme')] })
  other = await startOidc({ client: upstreamClient, redirectUris: [callbackOf('other')] })
  running = await setupWith([connectionTo(acme), connectionTo(other, { id: 'other', name: 'Other' })])
})
after(async () => {
  await running.close()
  await acme.stop()
  await other.stop()
})

const carol = { sub: 'carol', email: 'carol@example.com', email_verified: true }

test('a response with an invented, missing or repeated state is refused', async () => {
  acme.user = carol
  const browser = new TestBrowser(running)
  const path = await comeBack(browser)
  const url = new URL(path, 'http://localhost')
  for (const state of ['', 'invented', undefined]) {
    if (state === undefined) url.searchParams.delete('state')
    else url.searchParams.set('state', state)
    await assertRefused(browser, await browser.get(`${url.pathname}${url.search}`), `state ${state}`)
  }
  assert.equal((await browser.get(path)).status, 303)
  const later = new TestBrowser(running)
  for (const [name, value] of browser.cookies) if (name !== 'gatehouse_session') later.cookies.set(name, value)
  await assertRefused(later, await later.get(path), 'used')
})

test('of two requests with one response exactly one signs in', async () => {
  acme.user = carol
  const browser = new TestBrowser(running)
  const path = await comeBack(browser)
  const statuses = (await Promise.all([browser.get(path), browser.get(path)])).map(({ status }) => status)
  assert.deepEqual(statuses.sort(), [303, 400])
})

test('a response in another browser than the one that began is refused, and leaves the flow', async () => {
  acme.user = carol
  const owner = new TestBrowser(running)
  const path = await comeBack(owner)
  const victim = new TestBrowser(running)
  await victim.get('/account')
  await assertRefused(victim, await victim.get(path))
  assert.equal((await owner.get(path)).status, 303)
})

test('the state and code of one provider are refused at the callback of another', async () => {
  acme.user = carol
  const browser = new TestBrowser(running)
  const path = await comeBack(browser)
  await assertRefused(browser, await browser.get(path.replace('/acme/', '/other/')))
  const flow = await choose(browser, await browser.get('/account'), 'other')
  const mixed = new URL(await comeBack(browser), 'http://localhost')
  mixed.searchParams.set('state', flow.searchParams.get('state') ?? '')
  await assertRefused(browser, await browser.get(`${mixed.pathname.replace('acme', 'other')}${mixed.search}`))
})

test('a response that comes after ten minutes is refused', async () => {
  acme.user = carol
  const browser = new TestBrowser(running)
  const path = await comeBack(browser)
  running.clock.advance(10 * 60_000 + 1)
  await assertRefused(browser, await browser.get(path))
  running.clock.set(Date.now())
})

const misbehaviours: readonly Misbehaviour[] = [
  'wrong_iss',
  'wrong_aud',
  'wrong_azp',
  'wrong_nonce',
  'no_nonce',
  'expired',
  'wrong_key',
  'unsigned',
  'alg_none',
  'no_id_token',
  'no_iss_parameter',
  'wrong_iss_parameter',
]

for (const misbehaviour of misbehaviours) {
  test(`a provider’s response with ${misbehaviour} is refused with the same page`, async () => {
    acme.user = carol
    acme.misbehaviour = misbehaviour
    const browser = new TestBrowser(running)
    const response = await browser.get(await comeBack(browser))
    acme.misbehaviour = undefined
    await assertRefused(browser, response, misbehaviour)
  })
}

test('a user who declines at the provider gets the sign-in page, and goes on', async () => {
  acme.misbehaviour = 'denies'
  const browser = new TestBrowser(running)
  const page = await browser.get(await comeBack(browser))
  acme.misbehaviour = undefined
  assert.match(page.text, /You did not sign in with Acme/)
  assert.match((await browser.signIn(page)).text, /alice@example.com/)
})

test('disabling a connection refuses the response of a flow that began before', async () => {
  acme.user = carol
  const browser = new TestBrowser(running)
  await signInAt(running, browser)
  const second = new TestBrowser(running)
  const path = await comeBack(second)
  const page = await new TestBrowser(running).get('/account')
  await running.identity.management.updateConnection('acme', { enabled: false })
  await assertRefused(second, await second.get(path), 'disabled')
  const third = new TestBrowser(running)
  assert.doesNotMatch((await third.get('/account')).text, /Acme/)
  assert.match(page.text, /Acme/)
  const form = hiddenFields(await third.get('/account'))
  assert.equal((await third.post('/login/providers', { ...form, connection: 'acme' })).status, 400)
  await running.identity.management.updateConnection('acme', { enabled: true })
})

test('a locked or deleted user does not enter through a provider', async () => {
  acme.user = { sub: 'locked', email: 'locked@example.com', email_verified: true }
  await signInAt(running)
  const [user] = await usersByEmail(running, 'locked@example.com')
  const id = user?.id ?? assert.fail('no user')
  await running.identity.management.updateUser(id, { locked: true })
  const browser = new TestBrowser(running)
  await assertRefused(browser, await browser.get(await comeBack(browser)), 'locked')
  await running.identity.management.deleteUser(id)
  const links = await running.database.query("SELECT 1 FROM identity.linked_account WHERE subject = 'locked'")
  assert.equal(links.rows.length, 0)
})

test('a form of another site starts no sign-in with a provider', async () => {
  const browser = new TestBrowser(running)
  const page = await browser.get('/account')
  const form = { ...hiddenFields(page), connection: 'acme' }
  const foreign = await browser.post('/login/providers', form, { origin: 'https://evil.example' })
  assert.equal(foreign.status, 403)
  const elsewhere = new TestBrowser(running)
  await elsewhere.get('/account')
  const own = hiddenFields(await elsewhere.get('/account')).form_token ?? ''
  const stolen = await elsewhere.post('/login/providers', { ...form, form_token: own })
  assert.equal(stolen.status, 400)
})

test('every refusal is in the audit trail with its connection, and none with a code or a state', async () => {
  const { rows } = await running.database.query<{ details: Record<string, unknown> }>(
    "SELECT details FROM identity.audit_event WHERE type = 'login_failed' ORDER BY id",
  )
  const reasons = new Set(rows.map(({ details }) => String(details.reason)))
  assert.deepEqual([...reasons].sort(), ['account', 'disabled', 'response', 'state'])
  assert.ok(rows.every(({ details }) => Object.keys(details).sort().join() === 'connection,reason'))
})
