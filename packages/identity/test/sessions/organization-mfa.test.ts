import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { revocationTimes } from '../../src/model/revocation-times.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { requiresOrganizationMfa } from '../../src/sessions/organization-mfa.ts'
import { type Organizations, setupOrganizations } from '../support/organizations.ts'

let running: Organizations
before(async () => {
  running = await setupOrganizations()
})
after(() => running.close())

test('an organization requires a second factor of its members, while it is active', async () => {
  const store = postgresIdentityStore(running.database)
  const requires = (user: string, organization?: string) => requiresOrganizationMfa({ store }, user, organization)
  assert.equal(await requires('ann'), false)
  await store.organizations.update('beta', { requireMfa: true }, revocationTimes(running))
  assert.deepEqual(
    [await requires('ann'), await requires('ann', 'acme'), await requires('ann', 'beta')],
    [true, false, true],
  )
  assert.deepEqual([await requires('vera'), await requires('vera', 'beta')], [false, false])
  await store.organizations.update('beta', { status: 'suspended' }, revocationTimes(running))
  assert.equal(await requires('ann'), false)
})
