import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { type Database, manualClock } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { migrateIdentity } from '../../src/postgres/index.ts'
import { clients, getTokens, users, webSecret } from '../support/journey.ts'
import { type Running, service, serviceToken, setup } from '../support/setup.ts'

let database: Database
/** Two processes of one service on one database, each with the clock of its own machine. */
let ahead: Running
let behind: Running
beforeEach(async () => {
  database = await memoryDatabase(migrateIdentity)
  const options = { declared: { clients: [...clients, service], users }, background: false }
  const [aheadClock, behindClock] = [manualClock(), manualClock()]
  ahead = { ...(await setup({ ...options, clock: aheadClock }, database)), clock: aheadClock }
  behind = { ...(await setup({ ...options, clock: behindClock }, database)), clock: behindClock }
})
afterEach(async () => {
  await ahead.close()
  await behind.close()
  await database.close()
})

const credentials = { client_id: service.client_id, client_secret: service.client_secret }

const isActive = async (running: Running, token: string) =>
  (await running.post('/introspect', { ...credentials, token })).body.active

const userinfo = async ({ http }: Running, token = '') =>
  (await http.inject({ url: '/userinfo', headers: { authorization: `Bearer ${token}` } })).statusCode

test('a token is valid at once on a machine whose clock is up to 30 seconds behind', async () => {
  ahead.clock.advance(30_000)
  const { access_token } = await getTokens(ahead)
  const token = await serviceToken(ahead)
  assert.equal(await userinfo(behind, access_token), 200)
  assert.equal(await isActive(behind, token), true)
  ahead.clock.advance(1_000)
  assert.equal(await isActive(behind, await serviceToken(ahead)), false)
})

test('a token is revoked on a machine whose clock is up to 30 seconds behind', async () => {
  ahead.clock.advance(30_000)
  const { access_token = '' } = await getTokens(ahead)
  const token = await serviceToken(ahead)
  assert.equal((await behind.post('/revoke', { ...webSecret, token: access_token })).status, 200)
  assert.equal((await behind.post('/revoke', { ...credentials, token })).status, 200)
  assert.equal(await userinfo(ahead, access_token), 401)
  assert.equal(await isActive(ahead, token), false)
})

test('a token expires to the second, by the clock of the machine that is asked', async () => {
  const { access_token } = await getTokens(behind)
  const token = await serviceToken(behind)
  ahead.clock.advance(900_000 - 1)
  assert.equal(await userinfo(ahead, access_token), 200)
  assert.equal(await isActive(ahead, token), true)
  ahead.clock.advance(1)
  assert.equal(await userinfo(ahead, access_token), 401)
  assert.equal(await isActive(ahead, token), false)
})
