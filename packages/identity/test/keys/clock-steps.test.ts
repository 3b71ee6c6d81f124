import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Database, KeyRing, type ManualClock, manualClock, Secret, silentLog } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { signJwt } from '../../src/keys/sign-jwt.ts'
import { SigningKeys } from '../../src/keys/signing-keys.ts'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'

const minuteMs = 60_000
const dayMs = 86_400_000

async function databaseOf(t: TestContext): Promise<Database> {
  const database = await memoryDatabase(migrateIdentity)
  t.after(() => database.close())
  return database
}

const keysOf = (database: Database, clock: ManualClock) =>
  new SigningKeys({
    store: postgresIdentityStore(database).signingKeys,
    encryptionKey: KeyRing.of(new Secret('0123456789abcdef0123456789abcdef')),
    clock,
    log: silentLog,
    algorithms: ['ES256'],
    ageMs: 90 * dayMs,
    maxTokenMs: 60 * minuteMs,
    maxSessionMs: 90 * dayMs,
  })

const stateOf = (keys: SigningKeys) => keys.list().map(({ kid, state, dueAt }) => ({ kid, state, dueAt }))

test('a process signs with the successor of a compromised key that one ahead of it made', async (t) => {
  const database = await databaseOf(t)
  const clock = manualClock()
  const ahead = manualClock(clock.now() + 5 * minuteMs)
  const [server, command] = [keysOf(database, clock), keysOf(database, ahead)]
  await server.refresh()
  const kid = await command.rotate('ES256', true)
  assert.deepEqual(await server.refresh(), [], 'no other key is made')
  const key = await server.getOrCreate('ES256')
  assert.equal(key.kid, kid)
  assert.deepEqual(stateOf(server), [{ kid, state: 'active', dueAt: ahead.now() + 90 * dayMs }])
  const token = await signJwt(key, 'at+jwt', { exp: Math.floor(clock.now() / 1000) + 60 })
  await jwtVerify(token, createLocalJWKSet(command.getJwks() as never), { currentDate: new Date(clock.now()) })
})

test('the first key signs also once the clock of its process was set back by hours', async (t) => {
  const database = await databaseOf(t)
  const clock = manualClock()
  const keys = keysOf(database, clock)
  await keys.refresh()
  const first = keys.getActive('ES256').kid
  clock.advance(-7 * 60 * minuteMs)
  assert.equal((await keys.getOrCreate('ES256')).kid, first)
  const next = await keys.rotate('ES256')
  clock.advance(minuteMs)
  assert.equal((await keys.getOrCreate('ES256')).kid, next)
})

test('keys are read again for an unknown one also once the clock was set back', async (t) => {
  const database = await databaseOf(t)
  const clock = manualClock()
  const [keys, other] = [keysOf(database, clock), keysOf(database, clock)]
  await keys.refresh()
  await keys.findJwks(`${Buffer.from('{"kid":"unknown"}').toString('base64url')}.e30.`)
  clock.advance(-minuteMs)
  await other.refresh()
  const kid = await other.rotate('ES256')
  const { keys: found } = await keys.findJwks(`${Buffer.from(JSON.stringify({ kid })).toString('base64url')}.e30.`)
  assert.ok(found.some((key) => key.kid === kid))
})
