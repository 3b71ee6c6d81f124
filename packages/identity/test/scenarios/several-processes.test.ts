import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Database, type ManualClock, manualClock } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { decodeProtectedHeader } from 'jose'
import { migrateIdentity } from '../../src/postgres/index.ts'
import { clients, getTokens, users, webSecret } from '../support/journey.ts'
import { type Running, service, setup } from '../support/setup.ts'

const watcher = { client_id: 'watcher', client_secret: 'watcher-secret-0123456', may_introspect: true }
const { scopes: _, ...credentials } = service

let database: Database
let clock: ManualClock
/** Two processes of one service on one database. */
let here: Running
let there: Running
before(async () => {
  database = await memoryDatabase(migrateIdentity)
  clock = manualClock()
  // Without background workers: only what requests read counts here.
  const options = { declared: { clients: [...clients, service, watcher], users }, clock, background: false }
  here = await setup(options, database)
  there = await setup(options, database)
})
after(async () => {
  await here.close()
  await there.close()
  await database.close()
})

const tokenAt = async (running: Running) => running.post('/token', { grant_type: 'client_credentials', ...credentials })

async function isActive(running: Running, token: unknown): Promise<unknown> {
  const { client_id, client_secret } = watcher
  return (await running.post('/introspect', { token: String(token), client_id, client_secret })).body.active
}

const userinfo = async (running: Running, token = '') =>
  (await running.http.inject({ url: '/userinfo', headers: { authorization: `Bearer ${token}` } })).statusCode

for (const compromised of [false, true]) {
  test(`a ${compromised ? 'replacement' : 'new'} signing key is known to another process at once`, async () => {
    const kid = await here.identity.management.rotateSigningKey('ES256', compromised)
    clock.advance(compromised ? 0 : 60_000)
    const { access_token = '', id_token = '' } = await getTokens(here)
    assert.equal(decodeProtectedHeader(access_token).kid, kid)
    assert.equal(await userinfo(there, access_token), 200)
    assert.equal(await isActive(there, access_token), true)
    await here.identity.management.rotateSigningKey('RS256', compromised)
    clock.advance(60_000)
    const hint = compromised ? (await getTokens(here)).id_token : id_token
    const logout = await there.http.inject(`/end_session?${new URLSearchParams({ id_token_hint: hint ?? '' })}`)
    assert.equal(logout.statusCode, 200)
  })
}

test('an unknown key id causes at most one read of the keys per second', async () => {
  const original = database.query.bind(database)
  let reads = 0
  const counted: Database['query'] = (query: never) => {
    if (JSON.stringify(query).includes('signing_key')) reads++
    return original(query)
  }
  database.query = counted
  const token = `${Buffer.from('{"alg":"ES256","typ":"at+jwt","kid":"made-up"}').toString('base64url')}.e30.AAAA`
  clock.advance(1_000)
  await Promise.all(Array.from({ length: 20 }, () => isActive(there, token)))
  await isActive(there, token)
  database.query = original
  assert.equal(reads, 1)
})

test('a deleted client gets no working token from a process that still caches it', async () => {
  const remembered = (await tokenAt(there)).body.access_token
  assert.equal(await isActive(here, remembered), true)
  await here.identity.management.deleteClient('service')
  clock.advance(1_500)
  const late = await tokenAt(there)
  assert.equal(late.status, 200, 'the client is still cached')
  assert.equal(await isActive(here, late.body.access_token), false)
  assert.equal(await isActive(here, remembered), false)
  clock.advance(1_500)
  assert.equal((await tokenAt(there)).status, 401, 'the cache entry has expired')
})

test('a client secret that was replaced is rejected by every process within two seconds', async () => {
  await getTokens(there)
  const { client_secret } = await here.identity.management.rotateSecret('web')
  clock.advance(2_000)
  const form = { grant_type: 'refresh_token', refresh_token: 'rt', client_id: 'web' }
  assert.equal(
    (await there.post('/token', { ...form, client_secret: webSecret.client_secret })).body.error,
    'invalid_client',
  )
  assert.equal((await there.post('/token', { ...form, client_secret })).body.error, 'invalid_grant')
})
