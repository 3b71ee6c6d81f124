/** Introspection of a refresh token says whether the client can refresh with it now. */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { revocationTimes } from '../../src/model/grants/revocation-times.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { createPerson } from '../support/factors/factors.ts'
import { clients, getTokens, users, webSecret } from '../support/journey.ts'
import { type Running, setup, setupOnce } from '../support/setup.ts'

const declared = { clients, users, organizations: [{ id: 'globex' }] }
const running = setupOnce({ declared, mfa: 'optional' })
let token = ''
beforeEach(async () => {
  const user = await createPerson(running)
  const member = { organizationId: 'globex', userId: user[0], roles: [], now: running.clock.now(), messages: [] }
  await postgresIdentityStore(running.database).memberships.put({ ...member, expected: undefined })
  const { refresh_token = assert.fail('no refresh token') } = await getTokens(running, { user })
  token = refresh_token
})

async function isActive(at: Pick<Running, 'post'> = running): Promise<unknown> {
  return (await at.post('/introspect', { token, ...webSecret })).body.active
}

/** Refreshes, and says whether tokens were issued. */
async function refresh(at: Pick<Running, 'post'> = running): Promise<boolean> {
  const form = { grant_type: 'refresh_token', refresh_token: token, ...webSecret }
  const { status, body } = await at.post('/token', form)
  if (status === 200) token = String(body.refresh_token)
  return status === 200
}

const updateClient = (change: object) => running.identity.management.updateClient('web', change)
const grantTypes = clients.find(({ client_id }) => client_id === 'web')?.grant_types ?? assert.fail()
const updateOrganization = (requireMfa: boolean) =>
  postgresIdentityStore(running.database).organizations.update('globex', { requireMfa }, revocationTimes(running), {
    messages: [],
  })

const losses = {
  'whose client lost the refresh grant': {
    lose: () => updateClient({ grant_types: ['authorization_code'] }),
    restore: () => updateClient({ grant_types: grantTypes }),
  },
  'without the factor that its client requires': {
    lose: () => updateClient({ mfa: 'required' }),
    restore: () => updateClient({ mfa: 'optional' }),
  },
  'without the factor that an organization requires': {
    lose: () => updateOrganization(true),
    restore: () => updateOrganization(false),
  },
} as const

for (const [what, { lose, restore }] of Object.entries(losses))
  test(`a refresh token ${what} is inactive until it refreshes again`, async () => {
    assert.deepEqual([await isActive(), await refresh()], [true, true])
    await lose()
    const lost = [await isActive(), await refresh()]
    await restore()
    assert.deepEqual(lost, [false, false])
    assert.deepEqual([await isActive(), await refresh()], [true, true])
  })

test('a refresh token without the factor that the instance requires is inactive there', async (t) => {
  const requiring = await setup({ declared, mfa: 'required', clock: running.clock }, running.database)
  t.after(() => requiring.close())
  assert.deepEqual([await isActive(requiring), await refresh(requiring)], [false, false])
  assert.deepEqual([await isActive(), await refresh()], [true, true])
})
