/** Tokens whose grant was read before a revocation, and that are made in a second after it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Database, type ManualClock, manualClock } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { migrateIdentity, postgresIdentityStore } from '../src/postgres/index.ts'
import type { IdentityStore } from '../src/store/index.ts'
import { answerParameters, authorizeUrl, callback, pkce, TestBrowser, users } from './journey.ts'
import { type Running, setup } from './setup.ts'

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
/** What happens once a grant was read, before anything is done with it. */
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

/** In the last millisecond of a second; the next one begins before the token is made. */
async function takeRole(): Promise<void> {
  clock.advance(999 - (clock.now() % 1_000))
  await running.identity.management.updateUser('alice', { roles: [] })
  clock.advance(1)
}

async function codeFor(client_id: string): Promise<Record<string, string>> {
  await running.identity.management.updateUser('alice', { roles: ['gatehouse-operator'] })
  clock.advance(1_000)
  const browser = new TestBrowser(running)
  const { code_verifier, code_challenge } = pkce()
  const asked = { client_id, response_type: 'code', scope, code_challenge, prompt: 'consent' }
  const page = await browser.signIn(await browser.get(authorizeUrl(asked)))
  const { code = '' } = answerParameters(await browser.submit(page, { decision: 'allow' }))
  return { grant_type: 'authorization_code', code, code_verifier, ...secretOf(client_id) }
}

for (const client of ['console', 'opaque'])
  for (const grant of ['authorization_code', 'refresh_token'])
    test(`a token of ${client} by ${grant} that a role was taken from meanwhile is revoked`, async () => {
      let request = await codeFor(client)
      if (grant === 'refresh_token') {
        const { body } = await running.post('/token', request)
        request = { grant_type: grant, refresh_token: String(body.refresh_token), ...secretOf(client) }
      }
      meanwhile.push(takeRole)
      const { body } = await running.post('/token', request)
      assert.equal(meanwhile.length, 0)
      assert.match(String(body.scope), /admin:users/, 'its grant was read before')
      const { active } = await running.identity.introspect(String(body.access_token))
      assert.equal(active, false)
    })
