import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Database, KeyRing, Secret, sqlState } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { createMessage } from '../../src/mail/messages.ts'
import { revocationTimes } from '../../src/model/grants/revocation-times.ts'
import { mayAssignRoles } from '../../src/model/organization.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import type { IdentityStore } from '../../src/store/index.ts'
import { authorizeUrl, pkce, redirectParameters } from '../support/journey.ts'
import {
  introspect,
  type Organizations,
  portalSecret,
  refresh,
  setupOrganizations,
  signedIn,
  tokensOf,
} from '../support/management/organizations.ts'
import { takeMails } from '../support/notices.ts'
import { encryptionKey } from '../support/setup.ts'

const ten = Array.from({ length: 10 })

describe('organizations on PostgreSQL', () => {
  let server: Server | undefined
  let database: Database
  let running: Organizations
  let store: IdentityStore
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
    if (server === undefined) return
    database = await postgresDatabase(server, 20)
    running = await setupOrganizations({ background: false }, database)
    store = postgresIdentityStore(database)
  })
  after(async () => {
    await running?.close()
    await database?.close()
    await server?.stop()
  })

  const end = () => revocationTimes(running)
  const put = (userId: string, roles: readonly string[], expected?: readonly string[]) =>
    store.memberships.put({ organizationId: 'acme', userId, roles, expected, now: running.clock.now(), messages: [] })
  const notice = (hash: string) => {
    const payload = { event: 'organization_joined', data: { hash } }
    const context = { clock: running.clock, encryptionKey: KeyRing.of(new Secret(encryptionKey)) }
    return createMessage(context, { kind: 'mail', subject: 'sam', payload, ttlMs: 1000 })
  }
  const remove = (userId: string) =>
    store.memberships.remove({ organizationId: 'acme', userId, expected: undefined, messages: [] }, end())
  const roles = async (userId: string) => (await store.memberships.findMember('acme', userId))?.roles
  const owners = async () =>
    (await store.memberships.listMembers('acme', '', 100)).filter((one) => one.roles.includes('owner'))

  testWith('postgresql', 'who is invited by a locked member alone joins by a provider', async () => {
    await put('olga', ['owner'])
    const email = (await store.users.find('sam'))?.email ?? ''
    const upstream = { issuer: 'https://none.example', connectionId: 'none', subject: 'sam' }
    const join = async () => {
      const member = { organizationId: 'acme', userId: 'sam', roles: [], now: running.clock.now(), messages: [] }
      return store.memberships.join(member, upstream)
    }
    await database.query(
      `INSERT INTO identity.invitation (organization_id, id, hash, email, invited_by, created_at, expires_at)
       VALUES ('acme', gen_random_uuid(), 'of olga', $1, 'olga', 0, $2)`,
      [email, running.clock.now() + 1_000],
    )
    assert.equal(await join(), 'invited')
    await running.identity.management.updateUser('olga', { locked: true })
    assert.equal(await join(), 'changed')
    await running.identity.management.updateUser('olga', { locked: false })
    await remove('sam')
    await database.query("DELETE FROM identity.invitation WHERE hash = 'of olga'")
  })

  testWith('postgresql', 'of the last two owners who are removed at once, one stays', async () => {
    for (let round = 0; round < 10; round++) {
      await put('sam', ['owner'])
      const results = await Promise.all([remove('sam'), remove('olga')])
      assert.deepEqual([...results].sort(), ['changed', 'last_owner'])
      const [left, ...more] = await owners()
      assert.deepEqual(more, [])
      if (left?.userId === 'sam') {
        await put('olga', ['owner'])
        await remove('sam')
      }
    }
  })

  testWith('postgresql', 'of the last two owners who are demoted and removed at once, one stays', async () => {
    for (let round = 0; round < 10; round++) {
      await put('sam', ['owner'])
      const results = await Promise.all([put('sam', [], ['owner']), remove('olga')])
      assert.deepEqual([...results].sort(), ['changed', 'last_owner'])
      assert.equal((await owners()).length, 1)
      if ((await roles('olga')) === undefined) await put('olga', ['owner'])
      await remove('sam')
    }
  })

  testWith('postgresql', 'of ten who accept an invitation at once, one does', async () => {
    const now = running.clock.now()
    for (let round = 0; round < 5; round++) {
      const invitation = {
        id: crypto.randomUUID(),
        organizationId: 'acme',
        email: 'sam@people.example',
        roles: ['viewer'],
        invitedBy: 'olga',
        createdAt: now,
        expiresAt: now + 1000,
      }
      const hash = `hash-${round}`
      assert.equal(await store.invitations.put(invitation, hash, []), 'created')
      const accepted = await Promise.all(
        ten.map(() => store.invitations.accept({ hash, userId: 'sam', now }, mayAssignRoles, [notice(hash)])),
      )
      assert.equal(accepted.filter((one) => one !== undefined).length, 1)
      assert.deepEqual(await roles('sam'), ['viewer'])
      assert.equal((await takeMails(database)).length, 1, 'one notice for one membership')
      await remove('sam')
    }
  })

  testWith('postgresql', 'who accepts an invitation waits for the lock of its inviter that is under way', async () => {
    const now = running.clock.now()
    const invitation = { organizationId: 'acme', email: 'sam@people.example', roles: ['viewer'], invitedBy: 'olga' }
    const id = crypto.randomUUID()
    await store.invitations.put({ ...invitation, id, createdAt: now, expiresAt: now + 1000 }, 'locked', [])
    const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const locking = database.transaction(async (tx) => {
      await tx.query("UPDATE identity.account SET locked_at = 1 WHERE id = 'olga'")
      locked.resolve()
      await release.promise
    })
    await locked.promise
    let settled = false
    const accepting = store.invitations
      .accept({ hash: 'locked', userId: 'sam', now }, mayAssignRoles, [])
      .finally(() => {
        settled = true
      })
    const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    while (!settled && (await database.query(waits)).rowCount === 0) await nextTurn()
    release.resolve()
    await locking
    const accepted = await accepting
    await database.query("UPDATE identity.account SET locked_at = NULL WHERE id = 'olga'")
    assert.equal(accepted, undefined)
    assert.equal(await roles('sam'), undefined)
    assert.ok(await store.invitations.remove('acme', id), 'it is still there')
  })

  testWith('postgresql', 'ten invitations of one address at once leave one', async () => {
    const now = running.clock.now()
    const invitation = { organizationId: 'acme', email: 'x@people.example', roles: [], invitedBy: undefined }
    const times = { createdAt: now, expiresAt: now + 1000 }
    const results = await Promise.all(
      ten.map((_, at) => store.invitations.put({ ...invitation, ...times, id: crypto.randomUUID() }, `x-${at}`, [])),
    )
    assert.ok(results.every((one) => one === 'created'))
    assert.equal((await store.invitations.list('acme', undefined, 50, now)).length, 1)
  })

  testWith('postgresql', 'a role that is deleted while it is granted is not left on a member', async () => {
    for (let round = 0; round < 10; round++) {
      const key = `round-${round}`
      await store.organizationRoles.put({ organizationId: 'acme', key, name: key, permissions: [] }, Date.now())
      const [result, removed] = await Promise.all([put('vera', [key], []), store.organizationRoles.remove('acme', key)])
      assert.ok(result === 'changed' || result === 'unknown_role', result)
      assert.equal(removed, true)
      assert.deepEqual(await roles('vera'), [])
    }
  })

  testWith('postgresql', 'a template and a role of an organization never share a key', async () => {
    for (let round = 0; round < 10; round++) {
      const role = { key: `key-${round}`, name: 'x', permissions: [] }
      const results = await Promise.all([
        store.organizationRoles.put({ organizationId: undefined, ...role }, Date.now()),
        store.organizationRoles.put({ organizationId: 'acme', ...role }, Date.now()),
      ])
      assert.deepEqual([...results].sort(), ['conflict', 'created'])
    }
  })

  testWith('postgresql', 'a change of a member’s roles that was read earlier is outdated', async () => {
    const results = await Promise.all(['editor', 'viewer'].map((role) => put('vera', [role], [])))
    assert.deepEqual([...results].sort(), ['changed', 'outdated'])
    await put('vera', [], await roles('vera'))
  })

  testWith('postgresql', 'a grant that begins while its membership ends does not outlive it', async () => {
    for (let round = 0; round < 5; round++) {
      await put('sam', ['editor'])
      const browser = await signedIn(running, 'sam')
      const { code_verifier, code_challenge } = pkce()
      const scope = 'openid offline_access'
      const request = { client_id: 'portal', response_type: 'code', scope, code_challenge, organization: 'acme' }
      const [answer] = await Promise.all([browser.get(authorizeUrl(request)), remove('sam')])
      if (answer.status === 302) {
        const { code = '' } = redirectParameters(answer)
        const exchange = { grant_type: 'authorization_code', code, code_verifier, ...portalSecret }
        assert.equal((await running.post('/token', exchange)).status, 400)
      }
      const { rows } = await database.query(
        `SELECT id FROM identity.grant_record WHERE user_id = 'sam' AND organization_id IS NOT NULL`,
      )
      assert.deepEqual(rows, [])
    }
  })

  testWith('postgresql', 'a device that is connected while the membership ends does not outlive it', async () => {
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
    for (let round = 0; round < 5; round++) {
      await put('sam', ['editor'])
      const request = { client_id: 'terminal', scope: 'openid', organization: 'acme' }
      const { device_code, user_code } = (await running.post('/device_authorization', request)).body
      const browser = await signedIn(running, 'sam')
      const page = await browser.submit(await browser.get('/device'), { user_code: String(user_code) })
      const [answer, removed] = await Promise.all([browser.submit(page, { decision: 'allow' }), remove('sam')])
      assert.equal(removed, 'changed')
      assert.ok([200, 400].includes(answer.status), answer.text)
      running.clock.advance(5_000)
      const polled = { grant_type, device_code: String(device_code), client_id: 'terminal' }
      const { body } = await running.post('/token', polled)
      assert.ok(['invalid_grant', 'authorization_pending'].includes(String(body.error)), JSON.stringify(body))
    }
  })

  testWith('postgresql', 'a refresh and a removal at once never leave a live family or token', async () => {
    for (let round = 0; round < 5; round++) {
      await put('sam', ['editor'])
      const { refreshToken, accessToken } = await tokensOf(running, 'sam', 'acme')
      const [answer] = await Promise.all([refresh(running, refreshToken), remove('sam')])
      const { access_token, refresh_token } = answer.body
      for (const token of [accessToken, access_token ?? ''])
        assert.equal((await introspect(running, String(token))).active, token === '' ? undefined : false)
      if (refresh_token !== undefined) assert.equal((await refresh(running, String(refresh_token))).status, 400)
    }
  })

  testWith('postgresql', 'rows that join two organizations are impossible', async () => {
    await store.organizationRoles.put({ organizationId: 'beta', key: 'theirs', name: 'x', permissions: [] }, Date.now())
    const { rows } = await database.query<{ id: string }>(
      `INSERT INTO identity.invitation (organization_id, id, hash, email, created_at, expires_at)
       VALUES ('beta', gen_random_uuid(), 'beta-hash', 'y@people.example', 0, 1) RETURNING id`,
    )
    const wrong = {
      'a role of beta on a member of acme': `INSERT INTO identity.membership_role VALUES ('acme', 'vera', 'beta', 'theirs')`,
      'a role for a user who is no member': `INSERT INTO identity.membership_role VALUES ('beta', 'vera', '*', 'viewer')`,
      'a role of beta on an invitation to acme': `INSERT INTO identity.invitation_role VALUES ('acme', '${rows[0]?.id}', 'beta', 'theirs')`,
      'an invitation of beta named in acme': `INSERT INTO identity.invitation_role VALUES ('acme', '${rows[0]?.id}', '*', 'viewer')`,
      'an inviter who is no member': `UPDATE identity.invitation SET invited_by = 'vera' WHERE hash = 'beta-hash'`,
      'a grant for an organization of others': `INSERT INTO identity.grant_record (id, user_id, client_id, scopes, resources,
         claims, auth_time, amr, remembered, user_agent, created_at, expires_at, organization_id)
         VALUES (gen_random_uuid(), 'vera', 'portal', '{}', '{}', '{}', 0, '{}', false, '', 0, 1, 'beta')`,
    }
    for (const [what, statement] of Object.entries(wrong)) {
      const state = await database.query(statement).then(() => 'accepted', sqlState)
      assert.ok(state === '23503' || state === '23514', `${what}: ${state}`)
    }
  })
})
