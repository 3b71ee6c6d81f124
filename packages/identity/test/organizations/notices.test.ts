import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { KeyRing, Secret } from '@gatehouse/kit'
import type { NotifyRequest } from '../../src/index.ts'
import { createMessage } from '../../src/mail/messages.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { getTokens } from '../support/journey.ts'
import {
  type Organizations,
  password,
  send,
  setupOrganizations,
  signedIn,
} from '../support/management/organizations.ts'
import { takeMails, waitingMails } from '../support/notices.ts'
import { encryptionKey } from '../support/setup.ts'

let running: Organizations
let token: string
before(async () => {
  running = await setupOrganizations({ background: false })
  const options = { client: 'console', scope: 'openid admin:organizations', user: ['owner', password] as const }
  token = (await getTokens(running, options)).access_token ?? assert.fail('no token')
})
after(() => running.close())
beforeEach(async () => {
  await takeMails(running.database)
  await running.database.query('DELETE FROM identity.message_count')
})

const manage = (method: string, path: string, payload?: object) =>
  send(running, token, method, `/admin/v1/organizations${path}`, payload)

const summary = (mails: readonly NotifyRequest[]) =>
  mails.map(({ event, email, data }) => [event, email, data.organization, data.roles].filter(Boolean).join(' '))

const announced = async () => summary(await takeMails(running.database))

test('a member who is added, changed and removed by others is notified once of each', async () => {
  const path = '/acme/members/sam'
  await manage('PUT', path, { roles: ['viewer', 'editor'] })
  const [joined, ...more] = await takeMails(running.database)
  assert.deepEqual(more, [])
  assert.deepEqual(summary([joined ?? assert.fail()]), [
    'organization_joined sam@people.example Acme Ltd editor, viewer',
  ])
  assert.deepEqual([joined?.data.device, joined?.data.address], ['', ''], 'not the device of the administrator')
  await manage('PUT', path, { roles: ['viewer', 'editor'] })
  assert.deepEqual(await announced(), [], 'nothing was changed')
  await manage('PUT', path, { roles: ['viewer'] })
  assert.deepEqual(await announced(), ['organization_roles_changed sam@people.example Acme Ltd viewer'])
  await manage('DELETE', path)
  assert.deepEqual(await announced(), ['organization_left sam@people.example Acme Ltd'])
  assert.equal((await manage('DELETE', path)).status, 404)
  assert.equal((await manage('PUT', '/acme/members/olga', { roles: [] })).status, 409)
  assert.equal((await manage('DELETE', '/acme/members/olga')).status, 409)
  assert.deepEqual(await announced(), [], 'what was refused is not announced')
})

test('who leaves or accepts an invitation is notified, with the browser that did it', async () => {
  await manage('POST', '/beta/invitations', { email: 'vera@people.example', roles: ['viewer'] })
  const [mail] = await takeMails(running.database)
  assert.equal(mail?.event, 'organization_invitation')
  const vera = await signedIn(running, 'vera')
  await takeMails(running.database)
  const link = String(mail?.data.link).replace('http://localhost:8080', '')
  await vera.submit(await vera.get(link))
  const [joined, ...more] = await takeMails(running.database)
  assert.deepEqual(more, [])
  assert.deepEqual(summary([joined ?? assert.fail()]), ['organization_joined vera@people.example Beta Inc viewer'])
  assert.equal(joined?.data.address, '127.0.0.1')
  await vera.submit(await vera.get('/account/organizations'), { organization: 'beta' })
  assert.deepEqual(await announced(), ['organization_left vera@people.example Beta Inc'])
})

test('a member who is invited again learns nothing new', async () => {
  await manage('POST', '/acme/invitations', { email: 'ann@people.example', roles: ['admin'] })
  const [mail] = await takeMails(running.database)
  const ann = await signedIn(running, 'ann')
  await takeMails(running.database)
  await ann.submit(await ann.get(String(mail?.data.link).replace('http://localhost:8080', '')))
  assert.deepEqual(await announced(), [])
})

test('of ten changes at once, those that were made are announced', async () => {
  const changes = ['editor', 'viewer', 'admin'].map((role) => manage('PUT', '/acme/members/vera', { roles: [role] }))
  const made = (await Promise.all(changes)).filter(({ status }) => status === 204).length
  const mails = await takeMails(running.database)
  assert.equal(mails.length, made)
  assert.equal(new Set(mails.map(({ dedup_key }) => dedup_key)).size, made)
  await manage('PUT', '/acme/members/vera', { roles: [] })
})

test('every member learns once that their organization requires a second factor', async () => {
  const mails: NotifyRequest[] = []
  const big = await setupOrganizations({ notify: async (request) => void mails.push(request) })
  const store = postgresIdentityStore(big.database)
  await big.database.query(
    `WITH member AS (SELECT 'member-' || n AS id, n FROM generate_series(1, 60) n),
       subject AS (INSERT INTO identity.subject (id, kind, plan) SELECT id, 'user', 'free' FROM member),
       account AS (INSERT INTO identity.account
           (id, username, email, email_verified, password_changed_at, roles, claims, created_at, updated_at)
         SELECT id, id, id || '@people.example', true, 0, '{}', '{}', 0, 0 FROM member)
     SELECT 1`,
  )
  for (let n = 1; n <= 60; n++) {
    const member = { organizationId: 'beta', userId: `member-${n}`, roles: [], expected: undefined, messages: [] }
    await store.memberships.put({ ...member, now: 0 })
  }
  const options = { client: 'console', scope: 'openid admin:organizations', user: ['owner', password] as const }
  const { access_token = '' } = await getTokens(big, options)
  const change = (require_mfa: boolean) =>
    send(big, access_token, 'PATCH', '/admin/v1/organizations/beta', { require_mfa })
  const required = () => mails.filter(({ event }) => event === 'organization_requires_mfa')
  await change(true)
  await change(true)
  const deadline = performance.now() + 60_000
  while (required().length < 62 && performance.now() < deadline) await new Promise((resolve) => setImmediate(resolve))
  await change(false)
  const { rows } = await big.database.query("SELECT 1 FROM identity.outbox WHERE kind = 'members'")
  assert.deepEqual(rows, [])
  assert.equal(new Set(required().map(({ email }) => email)).size, 62, '60, and the two that beta had')
  assert.equal(required().length, 62)
  await big.close()
})

test('a message that was replaced by notices is not replaced again', async () => {
  const { outbox } = postgresIdentityStore(running.database)
  const context = { clock: running.clock, encryptionKey: KeyRing.of(new Secret(encryptionKey)) }
  const create = (kind: 'members' | 'mail') =>
    createMessage(context, { kind, subject: 'acme', payload: { after: '' }, ttlMs: 1000 })
  const message = create('members')
  await outbox.put([message])
  await Promise.all([1, 2, 3].map(() => outbox.replace(message.id, [create('mail')])))
  assert.equal((await waitingMails(running.database)).length, 1)
})
