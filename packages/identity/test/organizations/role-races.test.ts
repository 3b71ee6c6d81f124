import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { maxOrganizationRoles } from '../../src/model/organization.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import type { IdentityStore } from '../../src/store/index.ts'
import { type Organizations, setupOrganizations } from '../support/management/organizations.ts'

describe('roles of organizations on PostgreSQL', () => {
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

  testWith('postgresql', 'a permission that is released while a role gets it stays with roles', async () => {
    const clerk = { organizationId: 'acme', key: 'clerk', name: 'Clerk', permissions: ['write:ledger'] }
    const { organizationRoles } = store
    for (let round = 0; round < 10; round++) {
      await organizationRoles.put(clerk, running.clock.now())
      await organizationRoles.remove('acme', 'clerk')
      const release = organizationRoles.release('acme', 'write:ledger')
      const [released] = await Promise.all([release, organizationRoles.put(clerk, running.clock.now())])
      assert.notEqual(released, 'missing')
      const found = (await organizationRoles.listProtected('acme')).find((one) => one.permission === 'write:ledger')
      assert.deepEqual(found?.roles, ['clerk'])
    }
    await organizationRoles.remove('acme', 'clerk')
  })

  testWith('postgresql', 'of two roles that are created at once, an organization with 99 gets one', async () => {
    const put = (key: string) =>
      store.organizationRoles.put({ organizationId: 'beta', key, name: key, permissions: [] }, running.clock.now())
    for (let at = 1; at < maxOrganizationRoles; at++) assert.equal(await put(`role-${at}`), 'created')
    for (let round = 0; round < 10; round++) {
      const results = await Promise.all([put('left'), put('right')])
      assert.deepEqual([...results].sort(), ['created', 'full'])
      await store.organizationRoles.remove('beta', results[0] === 'created' ? 'left' : 'right')
    }
  })
})
