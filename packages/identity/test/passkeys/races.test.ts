import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach } from 'node:test'
import { type Database, orderedId } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { isCounterRegression, type Passkey } from '../../src/model/factors/passkey.ts'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'
import { countSignInWays } from '../../src/postgres/users/sign-in-ways.ts'
import type { IdentityStore } from '../../src/store/index.ts'

let server: Server | undefined
let database: Database
let store: IdentityStore
before(async () => {
  server = await sharedPostgres().catch(() => undefined)
  if (server === undefined) return
  database = await postgresDatabase(server, 12)
  await migrateIdentity(database)
  store = postgresIdentityStore(database)
})
after(async () => {
  await database?.close()
  await server?.stop()
})

const version = '7d444840-9dc0-11d1-b245-5ffdce74fad2'
beforeEach(async () => {
  if (server === undefined) return
  await database.query('DELETE FROM identity.subject')
  await database.query("INSERT INTO identity.subject (id, kind) VALUES ('alice', 'user')")
  await database.query(
    `INSERT INTO identity.account (id, username, password_changed_at, credential_version, roles, claims, created_at, updated_at)
     VALUES ('alice', 'alice', 0, $1, '{}', '{}', 0, 0)`,
    [version],
  )
})

const passkey = (credentialId: string): Passkey => ({
  id: orderedId(),
  credentialId,
  userId: 'alice',
  publicKey: 'key',
  signCount: 0,
  backupEligible: false,
  backedUp: false,
  transports: [],
  aaguid: '',
  name: 'A passkey',
  createdAt: 0,
  lastUsedAt: undefined,
  lastUserAgent: undefined,
  counterRegressedAt: undefined,
})

/** Adds a passkey in a session of its own. */
const add = async (created: Passkey, credentialVersion = version) => {
  const session = await startSession()
  return store.passkeyRegistrations.add(
    { passkey: created, credentialVersion, session: { id: session, amr: ['mfa'], secretHash: randomUUID() } },
    20,
    [],
  )
}

async function startSession(): Promise<string> {
  const id = randomUUID()
  await database.query(
    `INSERT INTO identity.session (id, secret_hash, user_id, auth_time, amr, remembered, user_agent, address, created_at,
       seen_at, expires_at) VALUES ($1, $2, 'alice', 0, '{pwd}', false, '', '', 0, 0, 1000)`,
    [id, randomUUID()],
  )
  return id
}

const count = <Result>(results: readonly Result[], wanted: Result) => results.filter((one) => one === wanted).length

testWith('postgresql', 'of many registrations at once no more than the limit are stored', async () => {
  const results = await Promise.all(Array.from({ length: 30 }, (_, at) => add(passkey(`c${at}`))))
  assert.deepEqual([count(results, 'added'), count(results, 'full')], [20, 10])
  assert.equal((await store.passkeys.listByUser('alice')).length, 20)
})

testWith('postgresql', 'one credential is stored once, however often it is registered', async () => {
  const results = await Promise.all(Array.from({ length: 8 }, () => add(passkey('same'))))
  assert.deepEqual([count(results, 'added'), count(results, 'duplicate')], [1, 7])
})

testWith('postgresql', 'a registration that was allowed by earlier credentials stores nothing', async () => {
  assert.equal(await add(passkey('late'), '00000000-0000-0000-0000-000000000000'), 'outdated')
  await database.query('UPDATE identity.account SET locked_at = 1')
  assert.equal(await add(passkey('locked')), 'outdated')
  assert.deepEqual(await store.passkeys.listByUser('alice'), [])
})

testWith(
  'postgresql',
  'a registration in a session that has ended stores nothing, and gives no session back',
  async () => {
    const id = await startSession()
    const session = { id, amr: ['mfa'], secretHash: randomUUID() }
    const created = { passkey: passkey('ended'), credentialVersion: version, session }
    const end = { now: 1, expiresAt: 2, createLogoutMessages: () => [], endsGrantsOf: [] }
    const [added, ended] = await Promise.all([
      store.passkeyRegistrations.add(created, 20, []),
      store.sessions.end(id, 'alice', end),
    ])
    assert.equal(ended, true)
    assert.equal((await store.passkeys.listByUser('alice')).length, added === 'added' ? 1 : 0)
    assert.equal(await store.sessions.find(session.secretHash, 1, 1000), undefined)
    const late = { ...created, passkey: passkey('late') }
    assert.equal(await store.passkeyRegistrations.add(late, 20, []), 'outdated')
  },
)

testWith('postgresql', 'of the last passkeys that are removed at once, one stays', async () => {
  for (let round = 0; round < 10; round++) {
    await database.query('DELETE FROM identity.passkey')
    await database.query('UPDATE identity.account SET credential_version = $1', [version])
    const passkeys = [passkey('a'), passkey('b'), passkey('c')]
    for (const one of passkeys) await add(one)
    const remove = ({ id }: Passkey) => store.passkeys.remove({ userId: 'alice', id, evenLast: false }, [])
    const results = await Promise.all(passkeys.map(remove))
    assert.deepEqual([count(results, 'removed'), count(results, 'last_way')], [2, 1])
  }
})

testWith('postgresql', 'of the password and the last passkey that are removed at once, one stays', async () => {
  const end = { now: 1, expiresAt: 2, createLogoutMessages: () => [], endsGrantsOf: [] }
  for (let round = 0; round < 10; round++) {
    await database.query('DELETE FROM identity.passkey')
    await database.query("UPDATE identity.account SET password_hash = 'hash', credential_version = $1", [version])
    const last = passkey('last')
    await add(last)
    const keepSession = { id: orderedId(), secretHash: 'hash' }
    const removal = { userId: 'alice', verified: version, keepSession, messages: [] }
    const results = await Promise.all([
      store.accounts.removePassword(removal, end),
      store.passkeys.remove({ userId: 'alice', id: last.id, evenLast: false }, []),
    ])
    // A removed passkey renews the version that the removal of the password was allowed by.
    const [withoutPassword, withoutPasskey] = results
    const refused = withoutPassword === 'removed' ? withoutPasskey : withoutPassword
    assert.equal(count(results, 'removed'), 1)
    assert.equal(refused, withoutPassword === 'removed' ? 'last_way' : 'outdated')
    assert.equal(await database.transaction((tx) => countSignInWays(tx, 'alice')), 1)
  }
})

testWith('postgresql', 'of several uses with one counter, one is accepted', async () => {
  const created = passkey('counted')
  await add(created)
  const use = { counter: 5, backedUp: false, at: 1, userAgent: '', warnings: [] }
  const decide = (stored: Passkey) => (isCounterRegression(stored, use.counter) ? 'regression' : 'accept')
  const results = await Promise.all(Array.from({ length: 8 }, () => store.passkeys.recordUse(created.id, use, decide)))
  assert.deepEqual([count(results, 'accepted'), count(results, 'regression')], [1, 7])
})

testWith('postgresql', 'a challenge is consumed once, for what it was made for', async () => {
  const challenge = { hash: 'h', purpose: 'register', browserHash: 'b', userId: 'alice' } as const
  await store.passkeyChallenges.put(challenge, 100)
  for (const other of [{ purpose: 'sign-in' as const }, { browserHash: 'x' }, { userId: undefined }, { userId: 'bob' }])
    assert.equal(await store.passkeyChallenges.consume({ ...challenge, ...other }, 0), false)
  assert.equal(await store.passkeyChallenges.consume(challenge, 100), false)
  const results = await Promise.all(Array.from({ length: 8 }, () => store.passkeyChallenges.consume(challenge, 99)))
  assert.equal(count(results, true), 1)
})

testWith('postgresql', 'a user handle stays what the first registration made it', async () => {
  const proposals = Array.from({ length: 8 }, (_, at) => `handle ${at}`)
  const handles = await Promise.all(proposals.map((one) => store.passkeyRegistrations.userHandle('alice', one)))
  assert.equal(new Set(handles).size, 1)
  assert.equal(await store.passkeyRegistrations.userHandle('nobody', 'handle'), undefined)
})

testWith('postgresql', 'passkeys and challenges go with their user', async () => {
  await add(passkey('gone'))
  await store.passkeyChallenges.put({ hash: 'h', purpose: 'factor', browserHash: 'b', userId: 'alice' }, 100)
  assert.equal(await store.passkeys.exists('alice'), true)
  await database.query('DELETE FROM identity.subject')
  assert.equal(await store.passkeys.exists('alice'), false)
  assert.equal((await database.query('SELECT 1 FROM identity.passkey_challenge')).rowCount, 0)
})

/** A registration of an address, and the account with a passkey alone that would complete it. */
async function registering(name: string) {
  const email = `${name}@example.com`
  const registration = { hash: `link ${name}`, userId: name, userHandle: `handle ${name}`, email, expiresAt: 100 }
  await store.registrations.put(registration, [])
  const user = { id: name, username: email, plan: undefined, email, emailVerified: true, roles: [], claims: {} }
  const complete = (credentialId: string) => {
    const created = { ...passkey(credentialId), userId: name }
    const account = { ...user, passwordHash: undefined }
    return store.registrations.complete({ registration, user: account, passkey: created, messages: [] }, 1)
  }
  return { registration, complete }
}

testWith('postgresql', 'of many accounts with a passkey that one link would create, one is', async () => {
  const { complete } = await registering('carol')
  const results = await Promise.all(Array.from({ length: 8 }, (_, at) => complete(`first ${at}`)))
  assert.deepEqual([count(results, 'created'), count(results, 'expired')], [1, 7])
  assert.equal((await store.passkeys.listByUser('carol')).length, 1)
})

testWith('postgresql', 'of two accounts with one credential one is created, and the other link stays', async () => {
  const people = [await registering('dan'), await registering('dora')]
  const results = await Promise.all(people.map(({ complete }) => complete('shared')))
  assert.deepEqual(results.toSorted(), ['created', 'passkey_in_use'])
  const [refused = assert.fail()] = people.filter((_, at) => results[at] === 'passkey_in_use')
  assert.deepEqual(await store.registrations.find(refused.registration.hash, 1), refused.registration)
  assert.equal(await store.users.find(refused.registration.userId), undefined)
  assert.equal(await refused.complete('own'), 'created')
})
