/** Access that ends between two steps of a sign-in of a client. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { memoryDatabase, postgresDatabase, sharedPostgres, testWith } from '@gatehouse/testing'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'
import type { IdentityStore } from '../../src/store/index.ts'
import {
  authorizeUrl,
  clients,
  getCode,
  getTokens,
  hiddenFields,
  pkce,
  redirectParameters,
  TestBrowser,
  users,
  webSecret,
} from '../support/journey.ts'
import { type Running, setup, type TestResponse } from '../support/setup.ts'

let running: Running
let database: Database
/** Runs after the stored consents were read. */
const meanwhile: (() => Promise<void>)[] = []

function racing(store: IdentityStore): IdentityStore {
  const { consents } = store
  return {
    ...store,
    consents: {
      async find(userId, clientId) {
        const found = await consents.find(userId, clientId)
        await meanwhile.shift()?.()
        return found
      },
      listByUser: (userId) => consents.listByUser(userId),
      add: (...page) => consents.add(...page),
    },
  }
}

before(async () => {
  database = await memoryDatabase(migrateIdentity)
  running = await setup({ store: racing(postgresIdentityStore(database)), declared: { clients, users } }, database)
})
after(async () => {
  await running.close()
  await database.close()
})

const request = (prompt: string) => {
  const { code_challenge } = pkce()
  return authorizeUrl({
    client_id: 'web',
    response_type: 'code',
    scope: 'openid offline_access',
    prompt,
    code_challenge,
  })
}

const exchange = (code: string, code_verifier: string): Promise<TestResponse> =>
  running.post('/token', { grant_type: 'authorization_code', code, code_verifier, ...webSecret })

/** The app as its user removes it, in another browser. */
async function removeApp(): Promise<void> {
  const browser = new TestBrowser(running)
  const { form_token = '' } = hiddenFields(await browser.signIn(await browser.get('/account')))
  const ended = await browser.post('/account/end', { form_token, client_id: 'web' })
  assert.equal(ended.headers.location, '/account')
}

test('an app that is removed while it gets a code silently gets none', async () => {
  const browser = new TestBrowser(running)
  await getTokens(running, { browser })
  assert.ok(redirectParameters(await browser.get(request('none'))).code)
  meanwhile.push(removeApp)
  const page = await browser.get(request('none'))
  assert.equal(meanwhile.length, 0)
  assert.equal(page.status, 400, page.text)
  const { rows } = await database.query('SELECT 1 FROM identity.grant_record WHERE revoked_at IS NULL')
  assert.deepEqual(rows, [])
  assert.equal(redirectParameters(await browser.get(request('none'))).error, 'consent_required')
})

test('a code of a session that has ended gets no tokens', async () => {
  const { code, code_verifier, browser } = await getCode(running)
  await browser.submit(await browser.get('/end_session'), { decision: 'leave' })
  assert.match((await browser.get('/account')).text, /action="\/login"/)
  const { body } = await exchange(code, code_verifier)
  assert.equal(body.error, 'invalid_grant')
})

test('a code of a session whose sign-in was repeated gets tokens', async () => {
  const { code, code_verifier, browser } = await getCode(running)
  running.clock.advance(1_000)
  await browser.signIn(await browser.get(request('login')))
  const { body } = await exchange(code, code_verifier)
  assert.ok(body.id_token)
})

testWith('postgresql', 'codes that are issued while their app is removed leave no grant', async () => {
  const server = await sharedPostgres()
  const shared = await postgresDatabase(server, 8)
  const at = await setup({ declared: { clients, users } }, shared)
  try {
    for (let round = 0; round < 10; round++) {
      const browser = new TestBrowser(at)
      await getTokens(at, { browser })
      const requests = Array.from({ length: 6 }, () => browser.get(request('none')))
      await Promise.all([...requests, at.identity.management.withdrawConsent('alice', 'web')])
      const { rowCount } = await shared.query('SELECT 1 FROM identity.grant_record WHERE revoked_at IS NULL')
      assert.equal(rowCount, 0)
    }
  } finally {
    await at.close()
    await shared.close()
    await server.stop()
  }
})
