/** Tokens whose grant was read before a revocation and that are issued in the second after it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Database, type ManualClock, manualClock } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'
import type { IdentityStore } from '../../src/store/index.ts'
import { authorizeUrl, callback, pkce, redirectParameters, TestBrowser, users } from '../support/journey.ts'
import { type Running, setup } from '../support/setup.ts'

const scope = 'openid offline_access admin:users'
const secretOf = (client_id: string) => ({ client_id, client_secret: `${client_id}-secret-0123456789` })
const application = (client_id: string, more: object = {}) => ({
  ...secretOf(client_id),
  redirect_uris: [callback],
  scopes: scope.split(' '),
  ...more,
})

let running: Running
let database: Database
let clock: ManualClock
/** Runs after a grant was read and before it is used. */
const meanwhile: (() => Promise<void>)[] = []

function racing(store: IdentityStore): IdentityStore {
  const { authorizationCodes: codes, refreshFamilies } = store
  const read = async <T>(found: Promise<T>): Promise<T> => {
    const value = await found
    await meanwhile.shift()?.()
    return value
  }
  return {
    ...store,
    authorizationCodes: {
      find: (hash) => read(codes.find(hash)),
      consume: (hash, now, family) => codes.consume(hash, now, family),
    },
    refreshFamilies: {
      find: (grantId) => read(refreshFamilies.find(grantId)),
      rotate: (rotation) => refreshFamilies.rotate(rotation),
      endOlder: (grantId, generation) => refreshFamilies.endOlder(grantId, generation),
    },
  }
}

before(async () => {
  database = await memoryDatabase(migrateIdentity)
  clock = manualClock()
  const clients = [application('console'), application('opaque', { access_token_format: 'opaque' })]
  running = await setup(
    { store: racing(postgresIdentityStore(database)), clock, declared: { clients, users } },
    database,
  )
})
after(async () => {
  await running.close()
  await database.close()
})

/** Removes the role in the last millisecond of a second, so that the token is issued in the next. */
async function removeRole(): Promise<void> {
  clock.advance(999 - (clock.now() % 1_000))
  await running.identity.management.updateUser('alice', { roles: [] })
  clock.advance(1)
}

async function codeFor(client_id: string): Promise<Record<string, string>> {
  await running.identity.management.updateUser('alice', { roles: ['gatehouse-operator'] })
  clock.advance(1_000)
  const browser = new TestBrowser(running)
  const { code_verifier, code_challenge } = pkce()
  const parameters = { client_id, response_type: 'code', scope, code_challenge, prompt: 'consent' }
  const page = await browser.signIn(await browser.get(authorizeUrl(parameters)))
  const { code = '' } = redirectParameters(await browser.submit(page, { decision: 'allow' }))
  return { grant_type: 'authorization_code', code, code_verifier, ...secretOf(client_id) }
}

for (const client of ['console', 'opaque'])
  for (const grant of ['authorization_code', 'refresh_token'])
    test(`a ${grant} token of ${client} issued while its role was removed is revoked`, async () => {
      let request = await codeFor(client)
      if (grant === 'refresh_token') {
        const { body } = await running.post('/token', request)
        request = { grant_type: grant, refresh_token: String(body.refresh_token), ...secretOf(client) }
      }
      meanwhile.push(removeRole)
      const { body } = await running.post('/token', request)
      assert.equal(meanwhile.length, 0)
      assert.match(String(body.scope), /admin:users/, 'the grant was read before the change')
      const { active } = await running.identity.introspect(String(body.access_token))
      assert.equal(active, false)
    })
