import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Database, type ManualClock, manualClock } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { decodeProtectedHeader } from 'jose'
import { migrateIdentity } from '../../src/postgres/index.ts'
import { clients, getTokens, users } from '../support/journey.ts'
import { type Running, service, setup } from '../support/setup.ts'

const watcher = { client_id: 'watcher', client_secret: 'watcher-secret-0123456', may_introspect: true }

let database: Database
let clock: ManualClock
/** A serving process, and the command line. */
let server: Running
let command: Running
before(async () => {
  database = await memoryDatabase(migrateIdentity)
  clock = manualClock()
  const options = { declared: { clients: [...clients, service, watcher], users }, clock }
  server = await setup(options, database)
  command = await setup({ ...options, background: false }, database)
})
after(async () => {
  await server.close()
  await command.close()
  await database.close()
})

const isActive = async (running: Running, token = '') => {
  const { client_id, client_secret } = watcher
  return (await running.post('/introspect', { token, client_id, client_secret })).body.active
}

const kidOf = (token = '') => decodeProtectedHeader(token).kid ?? assert.fail('no kid')

/** Whether the logout endpoint accepts the ID token as a hint. */
async function isBelieved(running: Running, id_token_hint = ''): Promise<boolean> {
  const request = { id_token_hint, post_logout_redirect_uri: 'https://app.example/bye' }
  return (await running.http.inject(`/end_session?${new URLSearchParams(request)}`)).statusCode < 400
}

test('a compromised key stays in the revocation feed permanently', async () => {
  const { access_token } = await getTokens(server)
  await command.identity.management.rotateSigningKey('ES256', true)
  const listed = async () => (await server.identity.revocations(undefined)).revocations
  assert.ok((await listed()).some((one) => 'key' in one && one.key === kidOf(access_token)))
  clock.advance(400 * 86_400_000)
  assert.ok((await listed()).some((one) => 'key' in one && one.key === kidOf(access_token)))
})

test('a regular rotation does not appear in the revocation feed', async () => {
  const { next } = await server.identity.revocations(undefined)
  await server.identity.management.rotateSigningKey('ES256', false)
  assert.deepEqual((await server.identity.revocations(next)).revocations, [])
})

test('tokens of a compromised key are rejected at once in the same process', async () => {
  const { access_token, id_token } = await getTokens(server)
  assert.deepEqual([await isActive(server, access_token), await isBelieved(server, id_token)], [true, true])
  await server.identity.management.rotateSigningKey('ES256', true)
  await server.identity.management.rotateSigningKey('RS256', true)
  assert.equal(server.identity.isCompromisedKey(kidOf(access_token)), true)
  assert.deepEqual([await isActive(server, access_token), await isBelieved(server, id_token)], [false, false])
  assert.ok(server.identity.keys().keys.every(({ kid }) => kid !== kidOf(access_token)))
})

test('a key revoked on the command line stops signing in a running process within two seconds', async () => {
  const { access_token, id_token } = await getTokens(server)
  const kids = [
    await command.identity.management.rotateSigningKey('ES256', true),
    await command.identity.management.rotateSigningKey('RS256', true),
  ]
  const deadline = performance.now() + 2_000
  while (!server.identity.isCompromisedKey(kidOf(id_token))) {
    assert.ok(performance.now() < deadline, 'it still signs after two seconds')
    await new Promise(setImmediate)
  }
  assert.deepEqual([await isActive(server, access_token), await isBelieved(server, id_token)], [false, false])
  const tokens = await getTokens(server)
  assert.deepEqual([kidOf(tokens.access_token), kidOf(tokens.id_token)], kids)
})
