import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  checkSealed,
  type Database,
  KeyRing,
  type ManualClock,
  manualClock,
  reseal,
  Secret,
  StartError,
  sealingKeyId,
} from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { decodeProtectedHeader } from 'jose'
import type { NotifyRequest } from '../../src/index.ts'
import { identitySealed, migrateIdentity } from '../../src/postgres/index.ts'
import {
  authorizeUrl,
  clients,
  getTokens,
  hiddenFields,
  pkce,
  TestBrowser,
  users,
  webSecret,
} from '../support/journey.ts'
import { type Running, service, setup } from '../support/setup.ts'

const oldKey = new Secret('old key 0123456789abcdef01234567')
const newKey = new Secret('new key 0123456789abcdef01234567')
const declared = { clients: [...clients, service], users }

let database: Database
let clock: ManualClock
const running: Running[] = []
before(async () => {
  database = await memoryDatabase(migrateIdentity)
  clock = manualClock()
})
after(async () => {
  for (const one of running) await one.close()
  await database.close()
})

/** A process with these keys in ENCRYPTION_KEY. */
async function start(...keys: Secret[]): Promise<Running> {
  await checkSealed(database, identitySealed, new KeyRing(keys))
  const process = await setup({ encryptionKey: new KeyRing(keys), declared, clock }, database)
  running.push(process)
  return process
}

const refreshAt = (process: Running, refresh_token: unknown) =>
  process.post('/token', { grant_type: 'refresh_token', refresh_token: String(refresh_token), ...webSecret })

test('processes with the same keys in different order read each other’s data', async () => {
  const tokens = await getTokens(await start(oldKey))
  const [before, after] = [await start(oldKey, newKey), await start(newKey, oldKey)]
  let token: unknown = tokens.refresh_token
  for (const process of [before, after, before, after]) {
    const response = await refreshAt(process, token)
    assert.equal(response.status, 200)
    token = response.body.refresh_token
  }
  // A login page of one process is submitted to the other, in both directions.
  for (const [page, response] of [
    [before, after],
    [after, before],
  ] as const) {
    const { code_challenge } = pkce()
    const request = { client_id: 'web', response_type: 'code', scope: 'openid', code_challenge }
    const first = new TestBrowser(page)
    const shown = await first.get(authorizeUrl(request))
    assert.equal(shown.status, 200)
    const browser = new TestBrowser(response)
    for (const [name, value] of first.cookies) browser.cookies.set(name, value)
    const done = await browser.post('/login', { ...hiddenFields(shown), username: 'alice', password: 'correct horse' })
    assert.ok(done.status === 302 || done.status === 303, `${done.status}`)
  }
})

test('a pending sign-in completes after its key was replaced and the old one removed', async () => {
  const mails: NotifyRequest[] = []
  const notify = async (request: NotifyRequest) => {
    mails.push(request)
  }
  const limit = async (policy: string) => ({ allowed: policy !== 'login-account' })
  const options = { declared, clock, notify, limit }
  const before = await setup({ ...options, encryptionKey: new KeyRing([oldKey]) }, database)
  running.push(before)
  const browser = new TestBrowser(before)
  await browser.submit(await browser.get('/account'), { username: 'alice', password: 'correct horse' })
  while (mails.length === 0) await nextTurn()
  for (const column of identitySealed) await reseal(database, column, new KeyRing([newKey, oldKey]))
  const { rows } = await database.query<{ continuation: string }>('SELECT continuation FROM identity.sign_in_link')
  assert.deepEqual(
    rows.map(({ continuation }) => sealingKeyId(continuation)),
    [new KeyRing([newKey]).currentId],
  )
  await checkSealed(database, identitySealed, new KeyRing([newKey]))
  await database.query('DELETE FROM identity.sign_in_link')
})

test('a declared user keeps changes made at run time when the first key changes', async () => {
  const process = await start(newKey, oldKey)
  await process.identity.management.updateUser('bob', { plan: 'pro' })
  for (const keys of [
    [oldKey, newKey],
    [newKey, oldKey],
  ]) {
    const { management } = (await start(...keys)).identity
    assert.equal((await management.listUsers('', 100)).find(({ id }) => id === 'bob')?.plan, 'pro')
  }
})

test('tokens issued before resealing stay valid after the old key is removed', async () => {
  const before = await start(oldKey, newKey)
  const tokens = await getTokens(before)
  await before.identity.management.resyncRecipients()
  const ring = new KeyRing([newKey, oldKey])
  await assert.rejects(start(newKey), StartError)
  for (const column of identitySealed) assert.deepEqual((await reseal(database, column, ring)).remaining, {})
  const alone = await start(newKey)
  const userinfo = { url: '/userinfo', headers: { authorization: `Bearer ${tokens.access_token}` } }
  assert.equal((await alone.http.inject(userinfo)).statusCode, 200)
  const refreshed = await refreshAt(alone, tokens.refresh_token)
  assert.equal(refreshed.status, 200)
  assert.equal((await refreshAt(alone, refreshed.body.refresh_token)).status, 200)
})

test('a forged refresh token ends nothing while the key of the real one is missing', async () => {
  const { refresh_token = '' } = await getTokens(await start(oldKey, newKey))
  for (const column of identitySealed) await reseal(database, column, new KeyRing([newKey, oldKey]))
  const alone = await start(newKey)
  const [head, generation] = refresh_token.split('.')
  const forged = `${head}.${generation}.${'A'.repeat(43)}.${'A'.repeat(43)}`
  assert.equal((await refreshAt(alone, forged)).body.error, 'invalid_grant')
  await alone.post('/revoke', { token: forged, ...webSecret })
  assert.equal((await refreshAt(alone, refresh_token)).status, 200)
})

test('a start without a required key is rejected with the key id and what it sealed', async () => {
  const ring = new KeyRing([oldKey, newKey])
  for (const column of identitySealed) await reseal(database, column, ring)
  await assert.rejects(start(newKey), (error) => {
    assert.ok(error instanceof StartError)
    const line = new RegExp(`lacks the key ${ring.currentId}: \\d+ of identity\\.signing_key can't be opened`)
    assert.match(error.message, line)
    for (const key of [oldKey, newKey]) assert.ok(!error.message.includes(key.reveal()))
    return true
  })
})

test('a process without the new key publishes it and signs with a key it can open', async () => {
  const [late, ahead] = [await start(oldKey), await start(newKey, oldKey)]
  const before = late.identity.keys().keys.map(({ kid }) => kid)
  const kid = await ahead.identity.management.rotateSigningKey('ES256')
  const isPublished = () => late.identity.keys().keys.some((key) => key.kid === kid)
  const deadline = performance.now() + 10_000
  while (!isPublished()) {
    assert.ok(performance.now() < deadline)
    await new Promise(setImmediate)
  }
  clock.advance(60_000)
  const { access_token = '' } = await getTokens(late)
  assert.ok(before.includes(decodeProtectedHeader(access_token).kid ?? ''))
  assert.equal(decodeProtectedHeader((await getTokens(ahead)).access_token ?? '').kid, kid)
})

test('sealed signing keys that were swapped between rows are rejected', async () => {
  await database.query(`UPDATE identity.signing_key a SET private_sealed = b.private_sealed
    FROM identity.signing_key b WHERE a.kid <> b.kid`)
  await assert.rejects(start(oldKey, newKey), /signing key [\w-]+ cannot be opened: the stored value was changed/)
})
