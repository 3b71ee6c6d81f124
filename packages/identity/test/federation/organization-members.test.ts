import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import type { NotifyRequest } from '../../src/index.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { isSignedIn } from '../support/factors/factors.ts'
import { hiddenFields, TestBrowser } from '../support/journey.ts'
import { administrators, consoleClient, tokenOf } from '../support/management/administrators.ts'
import { invitationLink, send } from '../support/management/organizations.ts'
import {
  assertRefused,
  callbackOf,
  connectionTo,
  followProvider,
  proveDomain,
  sentTo,
  setupWith,
  signInWithOrganization,
  upstreamClient,
  usersByEmail,
} from '../support/providers.ts'
import type { Running } from '../support/setup.ts'

let provider: OidcFake
let running: Running
const mails: NotifyRequest[] = []
before(async () => {
  provider = await startOidc({ client: upstreamClient, redirectUris: [callbackOf('acme')] })
  const members = { organization: 'acme', add_members: true, member_roles: ['viewer'] }
  running = await setupWith([connectionTo(provider, members)], {
    notify: async (request) => void mails.push(request),
    declared: {
      clients: [consoleClient],
      users: administrators,
      organizationRoles: ['viewer', 'editor'].map((key) => ({ key, permissions: [] })),
      organizations: [{ id: 'acme' }],
    },
  })
  await proveDomain(running, 'acme', 'acme.example')
})
after(async () => {
  await running.close()
  await provider.stop()
})

const store = () => postgresIdentityStore(running.database)

/** A user who signed in with the provider, in this browser. */
async function signIn(name: string): Promise<{ id: string; browser: TestBrowser }> {
  const email = `${name}@acme.example`
  provider.user = { sub: name, email, email_verified: true }
  const browser = new TestBrowser(running)
  assert.match((await signInWithOrganization(browser, email)).text, new RegExp(email))
  const [user] = await usersByEmail(running, email)
  return { id: user?.id ?? assert.fail(name), browser }
}

const rolesOf = async (id: string) => (await store().memberships.findMember('acme', id))?.roles

const manage = async (method: string, id: string, payload?: object) => {
  const token = await tokenOf(running, 'gatehouse-owner')
  return send(running, token, method, `/admin/v1/organizations/acme/members/${id}`, payload)
}

test('a member who was removed stays out until an administrator adds them', async () => {
  const { id } = await signIn('removed')
  assert.deepEqual(await rolesOf(id), ['viewer'])
  assert.equal((await manage('DELETE', id)).status, 204)
  await signIn('removed')
  assert.equal(await rolesOf(id), undefined, 'the sign-in does not undo the removal')
  assert.equal((await manage('PUT', id, { roles: [] })).status, 204)
  await signIn('removed')
  assert.deepEqual(await rolesOf(id), [], 'and does not change the roles of a member')
  assert.equal((await manage('DELETE', id)).status, 204)
  await signIn('removed')
  assert.equal(await rolesOf(id), undefined, 'a second removal counts too')
})

test('a member who left stays out', async () => {
  const { id, browser } = await signIn('left')
  const page = hiddenFields(await browser.get('/account/organizations'))
  const { form_token = '' } = page
  assert.equal((await browser.post('/account/organizations', { form_token, organization: 'acme' })).status, 303)
  await signIn('left')
  assert.equal(await rolesOf(id), undefined)
})

test('a locked user becomes no member by signing in', async () => {
  const { id } = await signIn('locked')
  await running.database.query('DELETE FROM identity.membership WHERE user_id = $1', [id])
  await running.identity.management.updateUser(id, { locked: true })
  const email = 'locked@acme.example'
  provider.user = { sub: 'locked', email, email_verified: true }
  const browser = new TestBrowser(running)
  await assertRefused(browser, await signInWithOrganization(browser, email))
  assert.equal(await rolesOf(id), undefined)
})

test('of a removal and a sign-in at once the removal counts', async () => {
  for (let round = 0; round < 5; round += 1) {
    const name = `race-${round}`
    const { id } = await signIn(name)
    const browser = new TestBrowser(running)
    const form = { ...hiddenFields(await browser.get('/account')), username: `${name}@acme.example` }
    const path = await followProvider(sentTo(await browser.post('/login/organization', form)))
    const { memberships } = store()
    const end = { now: running.clock.now(), expiresAt: running.clock.now() + 1_000 }
    const removed = memberships.remove({ organizationId: 'acme', userId: id, expected: undefined, messages: [] }, end)
    await Promise.all([removed, browser.get(path)])
    assert.equal(await rolesOf(id), undefined, name)
  }
})

test('of two first sign-ins of one user at once both succeed, and there is one membership', async () => {
  const ways: { browser: TestBrowser; path: string }[] = []
  provider.user = { sub: 'twins', email: 'twins@acme.example', email_verified: true }
  for (const browser of [new TestBrowser(running), new TestBrowser(running)]) {
    const form = { ...hiddenFields(await browser.get('/account')), username: 'twins@acme.example' }
    ways.push({ browser, path: await followProvider(sentTo(await browser.post('/login/organization', form))) })
  }
  const pages = await Promise.all(ways.map(async ({ browser, path }) => browser.follow(await browser.get(path))))
  for (const page of pages) assert.match(page.text, /twins@acme\.example/)
  for (const { browser } of ways) assert.ok(await isSignedIn(browser))
  const [user] = await usersByEmail(running, 'twins@acme.example')
  assert.deepEqual(await rolesOf(user?.id ?? ''), ['viewer'])
})

/** Invites a user of the domain as editor and returns the path of the link in the mail. */
async function invite(name: string): Promise<string> {
  const email = `${name}@acme.example`
  const token = await tokenOf(running, 'gatehouse-owner')
  const path = '/admin/v1/organizations/acme/invitations'
  assert.equal((await send(running, token, 'POST', path, { email, roles: ['editor'] })).status, 201)
  return invitationLink({ mails }, email)
}

test('a removal ends the invitation of the member, and of nobody else', async () => {
  const { id, browser } = await signIn('twice')
  const [own, other] = [await invite('twice'), await invite('other')]
  assert.equal((await manage('DELETE', id)).status, 204)
  const page = await browser.get(own)
  assert.equal(page.status, 400, page.text)
  assert.match(page.text, /This invitation is invalid/)
  assert.equal(await rolesOf(id), undefined)
  const invited = await signIn('other')
  assert.match((await invited.browser.submit(await invited.browser.get(other))).text, /You are a member/)
  const again = await browser.get(await invite('twice'))
  assert.match((await browser.submit(again)).text, /You are a member/, 'an invitation after the removal counts')
  assert.deepEqual(await rolesOf(id), ['editor'])
})

test('an invited user joins by the invitation with its roles, and not by signing in', async () => {
  const link = await invite('editor')
  const { id, browser } = await signIn('editor')
  assert.equal(await rolesOf(id), undefined, 'while the invitation waits')
  assert.match((await browser.submit(await browser.get(link))).text, /You are a member/)
  assert.deepEqual(await rolesOf(id), ['editor'])
})

test('an expired invitation keeps nobody out', async () => {
  await invite('patient')
  const { id } = await signIn('patient')
  assert.equal(await rolesOf(id), undefined)
  await running.database.query("UPDATE identity.invitation SET expires_at = $1 WHERE email LIKE 'patient@%'", [
    running.clock.now(),
  ])
  await signIn('patient')
  assert.deepEqual(await rolesOf(id), ['viewer'])
})

const disconnect = (id: string) =>
  running.database.query('DELETE FROM identity.linked_account WHERE user_id = $1', [id])

test('a removed member who deletes the account is no member with the next one', async () => {
  const { id, browser } = await signIn('again')
  assert.equal((await manage('DELETE', id)).status, 204)
  const page = await browser.get('/account/delete')
  assert.equal((await browser.submit(page, { account: 'again@acme.example' })).status, 200)
  const next = await signIn('again')
  assert.notEqual(next.id, id)
  assert.equal(await rolesOf(next.id), undefined)
  assert.equal((await manage('PUT', next.id, { roles: [] })).status, 204)
  await running.identity.management.deleteUser(next.id)
  assert.deepEqual(await rolesOf((await signIn('again')).id), ['viewer'], 'who was added again is no former member')
})

test('a removed member with another address is no member with an account of the old one', async () => {
  const email = 'moved@acme.example'
  await running.identity.management.createUser({ id: 'moved', username: 'mo', email, email_verified: true })
  const { id } = await signIn('moved')
  assert.deepEqual([id, await rolesOf(id)], ['moved', ['viewer']])
  assert.equal((await manage('DELETE', id)).status, 204)
  await running.identity.management.updateUser(id, { email: `${id}@people.example`, email_verified: true })
  await disconnect(id)
  const next = await signIn('moved')
  assert.notEqual(next.id, id)
  assert.equal(await rolesOf(next.id), undefined)
})

test('an account at the provider that is linked after the removal is a former member’s too', async () => {
  const { id } = await signIn('late')
  await disconnect(id)
  assert.equal((await manage('DELETE', id)).status, 204)
  assert.equal((await signIn('late')).id, id)
  await running.identity.management.deleteUser(id)
  assert.equal(await rolesOf((await signIn('late')).id), undefined)
})

test('a user who is deleted leaves no trace of a former membership but a hash', async () => {
  const { id } = await signIn('deleted')
  await manage('DELETE', id)
  await running.identity.management.deleteUser(id)
  const { rows } = await running.database.query('SELECT 1 FROM identity.former_member WHERE user_id = $1', [id])
  assert.equal(rows.length, 0)
  const kept = await running.database.query<{ hash: string }>('SELECT hash FROM identity.former_upstream')
  assert.ok(kept.rows.length > 0)
  for (const { hash } of kept.rows) assert.match(hash, /^[0-9a-f]{64}$/)
})
