import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { type Database, type ManualClock, manualClock } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { clientCacheMs } from '../../src/clients/cache.ts'
import { managementRoles, scopesOfRoles } from '../../src/model/management-roles.ts'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'
import type { IdentityStore } from '../../src/store/index.ts'
import { getTokens } from '../support/journey.ts'
import { call, clientToken, consoleClient } from '../support/management/administrators.ts'
import { type Running, setup } from '../support/setup.ts'
import { type SlowDatabase, slowDatabase } from '../support/slow-database.ts'

/*
 * Between the moment in which a request reads the roles of a user and the one in which their change is stored, tokens are
 * issued with what it takes away.
 */

const secret = 'secret-0123456789abcdef'
const password = 'a long and quiet password'
const scopes = [...scopesOfRoles(managementRoles, new Map())]
const registrar = { client_id: 'registrar', client_secret: secret, scopes }
const roles = ['gatehouse-auditor']
const auditors = ['demoted', 'replaced', 'declared', 'locked', 'renewed', 'deleted', 'left']
const users = auditors.map((id) => ({ id, password, email: `${id}@staff.example`, roles }))
const members = [
  { user_id: 'left', roles: [] },
  { user_id: 'renewed', roles: ['owner'] },
]
const organizations = [{ id: 'acme', members }]

describe('a change that waits for others and for its commit', () => {
  let database: Database
  let slow: SlowDatabase
  let store: IdentityStore
  let clock: ManualClock
  let running: Running
  before(async () => {
    database = await memoryDatabase(migrateIdentity)
    clock = manualClock()
    slow = slowDatabase(database, clock)
    store = postgresIdentityStore(slow.database)
    running = await start({ clients: [consoleClient, registrar], users, organizations })
  })
  after(async () => {
    await running?.close()
    await database?.close()
  })
  const start = (declared: object) => setup({ declared, store, clock }, database)

  const manage = async (method: string, path: string, payload?: object) => {
    const token = await clientToken(running, 'registrar', secret)
    const url = `/admin/v1/${path}`
    const response = await call(running, token, { method, url, ...(payload === undefined ? {} : { payload }) })
    assert.ok(response.status < 300, response.text)
  }
  /** The grant of new tokens of a user, for the organization if one is named. */
  const grantOf = async (user: string, organization?: string) => {
    const extra = organization === undefined ? {} : { extra: { organization } }
    await getTokens(running, { client: 'console', scope: 'openid read:accounts', user: [user, password], ...extra })
    const { rows } = await database.query<{ id: string }>(
      'SELECT id FROM identity.grant_record WHERE user_id = $1 ORDER BY created_at DESC LIMIT 1',
      [user],
    )
    return rows[0]?.id ?? assert.fail(`${user} has no grant`)
  }
  /** Whether a token is revoked that was issued so long after the commit of the last change with revocations. */
  const isRevoked = (subject: string, grantId: string, afterMs: number = 0) => {
    const issuedAt = Math.floor((slow.committedAt() + afterMs) / 1000)
    return store.revocations.isRevoked({ grantId, subject, clientId: 'console', issuedAt })
  }

  const demotions: Readonly<Record<string, () => Promise<unknown>>> = {
    demoted: () => manage('DELETE', 'roles/gatehouse-auditor/members/demoted'),
    replaced: () => manage('PATCH', 'users/replaced', { roles: ['editor'] }),
    declared: async () => {
      const changed = users.map((user) => (user.id === 'declared' ? { ...user, roles: [] } : user))
      await (await start({ clients: [consoleClient, registrar], users: changed, organizations })).close()
    },
  }
  for (const [user, demote] of Object.entries(demotions))
    test(`revokes every token of a lost role that was issued until it was stored: ${user}`, async () => {
      const grant = await grantOf(user)
      await demote()
      assert.deepEqual([await isRevoked(user, grant), await isRevoked(user, grant, 6_000)], [true, false])
    })

  const endings: Readonly<Record<string, () => Promise<unknown>>> = {
    locked: () => manage('PATCH', 'users/locked', { locked: true }),
    renewed: () => manage('PUT', 'users/renewed/password', { password: 'another long and quiet password' }),
    deleted: () => manage('DELETE', 'users/deleted'),
    left: () => manage('DELETE', 'organizations/acme/members/left'),
  }
  for (const [user, end] of Object.entries(endings))
    test(`revokes the grant of an ended access, whenever its tokens were issued: ${user}`, async () => {
      const grant = await grantOf(user, user === 'left' ? 'acme' : undefined)
      await end()
      assert.deepEqual([await isRevoked(user, grant), await isRevoked(user, grant, 600_000)], [true, true])
    })

  test('revokes every token of a deleted client that was issued until other processes forgot it', async () => {
    await manage('POST', 'clients', {
      client_id: 'robot',
      grant_types: ['client_credentials'],
      scopes: ['read:orders'],
    })
    await manage('DELETE', 'clients/robot')
    const isRevokedAfter = (ms: number) => {
      const issuedAt = Math.floor((slow.committedAt() + ms) / 1000)
      return store.revocations.isRevoked({ grantId: randomUUID(), subject: 'robot', clientId: 'robot', issuedAt })
    }
    assert.deepEqual([await isRevokedAfter(clientCacheMs), await isRevokedAfter(clientCacheMs + 6_000)], [true, false])
  })

  test('revokes nothing where a user keeps the management roles', async () => {
    await manage('POST', 'users', { id: 'kept', password, roles: [...roles, 'editor'] })
    await manage('PATCH', 'users/kept', { roles: [...roles, 'writer'], plan: 'pro' })
    const { rows } = await database.query("SELECT 1 FROM identity.revocation WHERE subject = 'kept'")
    assert.deepEqual(rows, [])
  })
})
