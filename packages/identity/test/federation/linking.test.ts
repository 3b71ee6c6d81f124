import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import { decideUnlinked } from '../../src/connections/account-linking.ts'
import { readProfile } from '../../src/connections/profile.ts'
import type { Connection, ConnectionSettings } from '../../src/model/connection.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import type { SignOutOptions } from '../../src/store/index.ts'
import { isSignedIn } from '../support/factors/factors.ts'
import { TestBrowser } from '../support/journey.ts'
import {
  callbackOf,
  comeBack,
  connectionTo,
  setupWith,
  signInAt,
  upstreamClient,
  usersByEmail,
} from '../support/providers.ts'
import type { Running } from '../support/setup.ts'

let plain: OidcFake
let authority: OidcFake
let running: Running

before(async () => {
  plain = await startOidc({ client: upstreamClient, redirectUris: [callbackOf('plain')] })
  authority = await startOidc({ client: upstreamClient, redirectUris: [callbackOf('authority')] })
  running = await setupWith([
    connectionTo(plain, { id: 'plain' }),
    connectionTo(authority, { id: 'authority', authoritative_domains: ['corp.example'] }),
  ])
})
after(async () => {
  await running.close()
  await plain.stop()
  await authority.stop()
})

const password = 'a long and quiet password'

const cells = [true, false].flatMap((localVerified) =>
  ([true, false, undefined, 'true'] as const).flatMap((upstreamVerified) =>
    [true, false].map((authoritative) => ({ localVerified, upstreamVerified, authoritative })),
  ),
)

for (const [index, { localVerified, upstreamVerified, authoritative }] of cells.entries()) {
  const links = localVerified && upstreamVerified === true && authoritative
  const cell = `local ${localVerified}, upstream ${JSON.stringify(upstreamVerified)}, authoritative ${authoritative}`
  test(`an account with the address ${links ? 'is linked' : 'is not linked'}: ${cell}`, async () => {
    const email = `matrix-${index}@corp.example`
    const { id } = await running.identity.management.createUser({
      id: `matrix-${index}`,
      email,
      email_verified: localVerified,
      password,
    })
    const provider = authoritative ? authority : plain
    provider.user = {
      sub: `matrix-${index}`,
      email,
      ...(upstreamVerified === undefined ? {} : { email_verified: upstreamVerified }),
    }
    const browser = new TestBrowser(running)
    const page = await signInAt(running, browser, authoritative ? 'authority' : 'plain')
    const { rows } = await running.database.query<{ user_id: string }>(
      'SELECT user_id FROM identity.linked_account WHERE subject = $1',
      [`matrix-${index}`],
    )
    assert.equal(rows[0]?.user_id === id, links)
    if (upstreamVerified === true && !links) {
      assert.equal(page.status, 409)
      assert.match(page.text, /There is already an account with the address/)
      assert.match((await browser.signIn(page, `matrix-${index}`, password)).text, /Connected apps/)
    }
    assert.equal((await usersByEmail(running, email)).length, 1)
  })
}

test('an account with a management role is never linked without its owner', async () => {
  const email = 'olga@corp.example'
  await running.identity.management.createUser({ id: 'olga', email, email_verified: true, password })
  await running.identity.management.changeRole('olga', { role: 'gatehouse-support', granted: true })
  authority.user = { sub: 'olga', email, email_verified: true }
  assert.equal((await signInAt(running, undefined, 'authority')).status, 409)
})

test('an account that gets a management role while it is linked by its address stays unlinked', async () => {
  const email = 'otto@corp.example'
  await running.identity.management.createUser({ id: 'otto', email, email_verified: true, password })
  const { users, linkedAccounts } = postgresIdentityStore(running.database)
  const { credentialVersion } = (await users.find('otto')) ?? assert.fail()
  await running.identity.management.changeRole('otto', { role: 'gatehouse-support', granted: true })
  const own = { userId: 'otto', credentialVersion }
  const link = { connectionId: 'authority', issuer: authority.url, subject: 'otto', email }
  assert.equal(await linkedAccounts.add({ ...own, verifiedEmail: email }, link, [], 0), 'outdated')
  assert.deepEqual(await linkedAccounts.listByUser('otto'), [])
  assert.equal(await linkedAccounts.add(own, link, [], 0), 'linked', 'by the owner')
})

test('an address that is somebody’s username is not linked', () => {
  const user = { email: 'other@corp.example', emailVerified: true, roles: [] }
  assert.equal(decideUnlinked({ email: 'bob@corp.example', isAuthoritative: true }, user, true), 'sign_in_first')
  assert.equal(decideUnlinked({ email: undefined, isAuthoritative: false }, undefined, false), 'refuse')
})

test('addresses are compared in ASCII, and look-alikes of @, dot and letters name nobody', () => {
  const connection = connectionOf({ kind: 'oidc', client_id: 'c', authoritative_domains: ['corp.example'] })
  const emailOf = (email: unknown) =>
    readProfile(connection, 'https://i.example', { sub: 's', email, email_verified: true }).email
  assert.equal(emailOf('Bob@Corp.Example'), 'bob@corp.example')
  for (const email of [
    'bob＠corp.example',
    'bob﹫corp.example',
    'bob@corp。example',
    'bob@corp．example',
    'bo\u212A@corp.example',
    'bоb@corp.example',
    'bob@corp.example\u0000',
    'bob@corp.example, eve@evil.example',
    '"bob@corp.example"@evil',
    ['bob@corp.example'],
    { toString: () => 'bob@corp.example' },
  ])
    assert.equal(emailOf(email), undefined, JSON.stringify(email))
})

test('of two first sign-ins of one user at once both sign in to one account', async () => {
  plain.user = { sub: 'twin', email: 'twin@example.com', email_verified: true }
  const browsers = [new TestBrowser(running), new TestBrowser(running)]
  const paths: string[] = []
  for (const browser of browsers) paths.push(await comeBack(browser, 'plain'))
  const pages = await Promise.all(
    browsers.map(async (browser, at) => browser.follow(await browser.get(paths[at] ?? ''))),
  )
  for (const page of pages) assert.match(page.text, /twin@example.com/)
  for (const browser of browsers) assert.ok(await isSignedIn(browser))
  assert.equal((await usersByEmail(running, 'twin@example.com')).length, 1)
})

test('a reset of an account with an unverified address removes its links and passkeys', async () => {
  for (const verified of [false, true]) {
    const id = `hijack-${verified}`
    const user = { id, email: `${id}@corp.example`, email_verified: verified, password }
    await running.identity.management.createUser(user)
    const { store } = storeOf(running)
    const { credentialVersion } = (await store.users.find(id)) ?? assert.fail()
    const link = { connectionId: 'plain', issuer: plain.url, subject: id, email: undefined }
    const now = running.clock.now()
    assert.equal(await store.linkedAccounts.add({ userId: id, credentialVersion }, link, [], now), 'linked')
    await running.database.query(
      `INSERT INTO identity.passkey (id, credential_id, user_id, public_key, sign_count, backup_eligible, backed_up,
         transports, aaguid, name, created_at)
       VALUES (gen_random_uuid(), $1, $1, 'k', 0, false, false, '{}', '', 'planted', 0)`,
      [id],
    )
    const mailed = { hash: id, purpose: 'reset' as const, userId: id, email: user.email, credentialVersion }
    const message = {
      id: randomUUID(),
      kind: 'mail' as const,
      subject: id,
      payloadSealed: 'x',
      dueAt: now,
      expiresAt: now,
    }
    assert.ok(await store.mailedLinks.put({ ...mailed, expiresAt: now + 1_000 }, message))
    const end: SignOutOptions = { now, expiresAt: now + 1_000, createLogoutMessages: () => [], endsGrantsOf: [] }
    assert.ok(await store.accounts.resetPassword({ linkHash: id, passwordHash: 'hash', messages: [] }, end))
    assert.equal((await store.linkedAccounts.listByUser(id)).length, verified ? 1 : 0)
    assert.equal((await store.passkeys.listByUser(id)).length, verified ? 1 : 0)
  }
})

test('a link is added only while the account is as it was verified', async () => {
  const { store } = storeOf(running)
  const { id } = await running.identity.management.createUser({ id: 'stale', email: 'stale@corp.example', password })
  const { credentialVersion } = (await store.users.find(id)) ?? assert.fail()
  const link = { connectionId: 'plain', issuer: plain.url, subject: 'stale', email: undefined }
  const now = running.clock.now()
  const add = (target: object) => store.linkedAccounts.add({ userId: id, credentialVersion, ...target }, link, [], now)
  assert.equal(await add({ verifiedEmail: 'stale@corp.example' }), 'outdated')
  assert.equal(await add({ credentialVersion: randomUUID() }), 'outdated')
  assert.equal(await add({}), 'linked')
  assert.equal(await add({ userId: 'alice', credentialVersion: await versionOf('alice') }), 'other_user')
})

async function versionOf(id: string): Promise<string> {
  return ((await storeOf(running).store.users.find(id)) ?? assert.fail()).credentialVersion
}

function storeOf({ database }: Running) {
  return { store: postgresIdentityStore(database) }
}

function connectionOf(settings: ConnectionSettings): Connection {
  return { id: 'c', settings, secretSealed: undefined, createdAt: 0, updatedAt: 0 }
}
