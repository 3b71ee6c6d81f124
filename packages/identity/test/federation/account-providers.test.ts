import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import { KeyRing, Secret, unseal } from '@gatehouse/kit'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { hiddenFields, TestBrowser } from '../support/journey.ts'
import {
  callbackOf,
  choose,
  connectionTo,
  followProvider,
  setupWith,
  signInAt,
  upstreamClient,
} from '../support/providers.ts'
import { encryptionKey, type Running, type TestResponse } from '../support/setup.ts'

let provider: OidcFake
let running: Running
before(async () => {
  provider = await startOidc({
    client: upstreamClient,
    redirectUris: [callbackOf('acme'), callbackOf('vault')],
  })
  running = await setupWith([
    connectionTo(provider),
    connectionTo(provider, { id: 'vault', name: 'Vault', link_only: true }),
  ])
})
after(async () => {
  await running.close()
  await provider.stop()
})

const page = '/account/providers'

async function signedIn(user = 'alice', password = 'correct horse'): Promise<TestBrowser> {
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'), user, password)
  return browser
}

async function connect(browser: TestBrowser, connection = 'acme'): Promise<TestResponse> {
  return browser.follow(
    await browser.get(await followProvider(await choose(browser, await browser.get(page), connection))),
  )
}

const linkIds = (text: string) => [...text.matchAll(/name="link_id" value="([^"]+)"/g)].map(([, id = '']) => id)

async function disconnect(browser: TestBrowser, id: string): Promise<TestResponse> {
  const { form_token = '' } = hiddenFields(await browser.get(page))
  return browser.post(page, { form_token, link_id: id })
}

test('a user connects a provider, signs in with it and disconnects it', async () => {
  provider.user = { sub: 'alice-there', email: 'alice@elsewhere.example' }
  const browser = await signedIn()
  assert.match((await browser.get('/account')).text, /href="\/account\/providers"/)
  const connected = await connect(browser)
  assert.match(connected.text, /Acme/)
  const other = new TestBrowser(running)
  assert.match((await signInAt(running, other)).text, /alice@example.com/)
  const [id = ''] = linkIds(connected.text)
  assert.equal((await disconnect(browser, id)).status, 303)
  provider.user = { sub: 'alice-there', email: 'alice@elsewhere.example' }
  assert.doesNotMatch((await signInAt(running)).text, /alice@example.com/)
  const events = await running.database.query<{ type: string }>(
    "SELECT type FROM identity.audit_event WHERE subject = 'alice' AND type LIKE 'provider_%' ORDER BY id",
  )
  assert.deepEqual(
    events.rows.map(({ type }) => type),
    ['provider_linked', 'provider_unlinked'],
  )
})

test('connecting needs a recent sign-in, the same session and the same user', async () => {
  provider.user = { sub: 'bob-there' }
  const browser = await signedIn('bob', 'battery staple')
  const flow = await choose(browser, await browser.get(page))
  const path = await followProvider(flow)
  await browser.signIn(await browser.get('/account'), 'bob', 'battery staple').catch(() => undefined)
  browser.cookies.delete('gatehouse_session')
  assert.equal((await browser.get(path)).status, 400)
  await browser.signIn(await browser.get('/account'))
  const second = await followProvider(await choose(browser, await browser.get(page)))
  browser.cookies.delete('gatehouse_session')
  await browser.signIn(await browser.get('/account'), 'bob', 'battery staple')
  assert.equal((await browser.get(second)).status, 400)
  running.clock.advance(6 * 60_000)
  const form = hiddenFields(await browser.get(page))
  assert.match((await browser.post(page, { ...form, connection: 'acme' })).text, /action="\/login"/)
  assert.match((await disconnect(browser, '0'.repeat(8))).text, /action="\/login"/)
  running.clock.set(Date.now())
  const { rows } = await running.database.query("SELECT 1 FROM identity.linked_account WHERE subject = 'bob-there'")
  assert.equal(rows.length, 0)
})

test('disconnecting ends other sessions through that account, and the browser stays a known one', async () => {
  provider.user = { sub: 'bob-known' }
  const browser = await signedIn('bob', 'battery staple')
  const [id = ''] = linkIds((await connect(browser)).text)
  const through = new TestBrowser(running)
  await signInAt(running, through)
  const own = await signedIn('bob', 'battery staple')
  const ring = KeyRing.of(new Secret(encryptionKey))
  const deviceOf = ({ cookies }: TestBrowser): string[] =>
    JSON.parse(unseal(cookies.get('gatehouse_device') ?? '', ring, 'known device'))
  const [, , device] = deviceOf(browser)
  assert.equal((await disconnect(browser, id)).status, 303)
  assert.match((await through.get('/account')).text, /action="\/login"/)
  for (const one of [browser, own]) assert.match((await one.get('/account')).text, /bob@example\.com/)
  const user = await postgresIdentityStore(running.database).users.find('bob')
  assert.deepEqual(deviceOf(browser), ['bob', user?.credentialVersion, device], 'it is the same device')
  const [, version, other] = deviceOf(own)
  assert.notEqual(version, user?.credentialVersion, 'other browsers are known no more')
  assert.ok(device !== undefined && device !== other)
})

test('a provider’s account that belongs to another user is not connected, and the link stays', async () => {
  provider.user = { sub: 'shared' }
  await connect(await signedIn())
  const bob = await signedIn('bob', 'battery staple')
  assert.equal((await connect(bob)).status, 400)
  assert.match((await signInAt(running)).text, /alice@example.com/)
})

test('the last way to sign in stays, also of two that are disconnected at once', async () => {
  provider.user = { sub: 'only-1', email: 'only@example.com', email_verified: true }
  const browser = new TestBrowser(running)
  await signInAt(running, browser)
  const [id = ''] = linkIds((await browser.get(page)).text)
  const refused = await disconnect(browser, id)
  assert.equal(refused.status, 409)
  assert.match(refused.text, /your only way to sign in/)
  provider.user = { sub: 'only-vault' }
  await connect(browser, 'vault')
  assert.equal((await disconnect(browser, id)).status, 409, 'a link that may not sign in is no way')
  provider.user = { sub: 'only-2' }
  await connect(browser)
  const ids = linkIds((await browser.get(page)).text)
  assert.equal(ids.length, 3)
  const ways = [ids[0] ?? '', ids[2] ?? '']
  const statuses = await Promise.all(ways.map((one) => disconnect(browser, one)))
  assert.deepEqual(statuses.map(({ status }) => status).sort(), [303, 409])
})

test('a link of another user is not disconnected', async () => {
  provider.user = { sub: 'alice-again' }
  const alice = await signedIn()
  await connect(alice)
  const [id = ''] = linkIds((await alice.get(page)).text)
  const bob = await signedIn('bob', 'battery staple')
  for (const one of [id, 'no-uuid', '00000000-0000-4000-8000-000000000000'])
    assert.equal((await disconnect(bob, one)).status, 303)
  assert.ok(linkIds((await alice.get(page)).text).includes(id))
})

test('a connection that only links is refused at a callback that would sign in', async () => {
  provider.user = { sub: 'vault-1' }
  await connect(await signedIn(), 'vault')
  await running.identity.management.updateConnection('vault', { link_only: false })
  const browser = new TestBrowser(running)
  const path = await followProvider(await choose(browser, await browser.get('/account'), 'vault'))
  await running.identity.management.updateConnection('vault', { link_only: true })
  assert.equal((await browser.get(path)).status, 400)
})

test('a disabled connection refuses to connect, also after the browser was sent away', async () => {
  provider.user = { sub: 'late' }
  const browser = await signedIn()
  const path = await followProvider(await choose(browser, await browser.get(page)))
  const { form_token = '' } = hiddenFields(await browser.get(page))
  await running.identity.management.updateConnection('acme', { enabled: false })
  assert.equal((await browser.get(path)).status, 400)
  assert.equal((await browser.post(page, { form_token, connection: 'acme' })).status, 404)
  await running.identity.management.updateConnection('acme', { enabled: true })
})
