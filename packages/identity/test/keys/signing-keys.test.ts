import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Database, KeyRing, type ManualClock, manualClock, Secret, silentLog } from '@gatehouse/kit'
import { memoryDatabase, postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { signJwt } from '../../src/keys/sign-jwt.ts'
import { SigningKeys, type SigningKeysOptions } from '../../src/keys/signing-keys.ts'
import type { SigningAlgorithm } from '../../src/model/client.ts'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'
import type { StoredKey } from '../../src/store/index.ts'
import { type Running, serviceToken, setup } from '../support/setup.ts'

const minuteMs = 60_000
const dayMs = 86_400_000
const maxTokenMs = 60 * minuteMs
const algorithms: SigningAlgorithm[] = ['ES256', 'RS256']

const encryptionSecret = new Secret('0123456789abcdef0123456789abcdef')

function keysOf(database: Database, clock: ManualClock, options: Partial<SigningKeysOptions> = {}): SigningKeys {
  return new SigningKeys({
    store: postgresIdentityStore(database).signingKeys,
    encryptionKey: KeyRing.of(encryptionSecret),
    clock,
    log: silentLog,
    algorithms,
    ageMs: 90 * dayMs,
    maxTokenMs,
    maxSessionMs: 90 * dayMs,
    ...options,
  })
}

const kids = (keys: SigningKeys) => keys.getJwks().keys.map(({ kid }) => kid)

/** Whether a resource server that reads the JWK Set now accepts the token. */
async function verifies(keys: SigningKeys, token: string, clock: ManualClock): Promise<boolean> {
  const set = createLocalJWKSet(keys.getJwks() as never)
  return jwtVerify(token, set, { currentDate: new Date(clock.now()) }).then(
    () => true,
    () => false,
  )
}

describe('on a schedule', () => {
  let database: Database
  let clock: ManualClock
  let keys: SigningKeys
  before(async () => {
    database = await memoryDatabase(migrateIdentity)
    clock = manualClock()
    keys = keysOf(database, clock)
    await keys.refresh()
  })
  after(() => database.close())

  const signed = (alg: SigningAlgorithm) =>
    signJwt(keys.getActive(alg), 'at+jwt', { exp: Math.floor((clock.now() + maxTokenMs) / 1000) })

  test('keys say what they do, when a successor is due, and until when their tokens are valid', async () => {
    const other = await memoryDatabase(migrateIdentity)
    after(() => other.close())
    const ownClock = manualClock()
    const own = keysOf(other, ownClock)
    await own.refresh()
    const start = ownClock.now()
    const describeKeys = () =>
      own
        .list()
        .flatMap(({ alg, state, dueAt, lastTokenExpiresAt }) =>
          alg === 'ES256' ? [[state, dueAt, lastTokenExpiresAt]] : [],
        )
    assert.deepEqual(describeKeys(), [['active', start + 90 * dayMs, undefined]])
    await own.rotate('ES256')
    const signsAt = start + minuteMs
    assert.deepEqual(describeKeys(), [
      ['next', undefined, undefined],
      ['active', signsAt, signsAt + maxTokenMs],
    ])
    ownClock.advance(minuteMs)
    assert.deepEqual(describeKeys(), [
      ['active', signsAt + 90 * dayMs, undefined],
      ['retiring', undefined, signsAt + maxTokenMs],
    ])
    assert.ok(own.list().every(({ isReadable }) => isReadable))
  })

  test('the next key is published ten minutes before it signs, 90 days after the previous one', async () => {
    const first = algorithms.map((alg) => keys.getActive(alg).kid)
    clock.advance(90 * dayMs - 10 * minuteMs - 1)
    assert.deepEqual(await keys.refresh(), [], 'nothing is due')
    clock.advance(1)
    const made = (await keys.refresh()).map(({ kid }) => kid)
    assert.equal(made.length, 2)
    assert.deepEqual(new Set(kids(keys)), new Set([...first, ...made]))
    clock.advance(10 * minuteMs - 1)
    assert.deepEqual(await keys.refresh(), [])
    const signing = () => algorithms.map((alg) => keys.getActive(alg).kid)
    assert.deepEqual(signing(), first)
    clock.advance(1)
    assert.deepEqual(signing(), made)
  })

  test('the old key verifies until its last token has expired and is then removed', async () => {
    clock.advance(90 * dayMs - 10 * minuteMs)
    await keys.refresh()
    clock.advance(10 * minuteMs - 1)
    const old = algorithms.map((alg) => keys.getActive(alg).kid)
    const tokens = await Promise.all(algorithms.map(signed))
    clock.advance(maxTokenMs - 2000)
    await keys.refresh()
    for (const token of tokens) {
      assert.notEqual(decodeProtectedHeader(token).kid, keys.getActive('ES256').kid)
      assert.equal(await verifies(keys, token, clock), true)
    }
    clock.advance(2000 + 5 * minuteMs)
    await keys.refresh()
    assert.ok(old.every((kid) => kids(keys).includes(kid)))
    clock.advance(1)
    await keys.refresh()
    assert.ok(old.every((kid) => !kids(keys).includes(kid)))
    assert.equal(
      await postgresIdentityStore(database).signingKeys.purge(clock.now()),
      4,
      'two rotations of two algorithms',
    )
    const { rows } = await database.query<{ kid: string }>('SELECT kid FROM identity.signing_key')
    assert.deepEqual(new Set(rows.map(({ kid }) => kid)), new Set(kids(keys)), 'the old keys are gone')
  })

  test('a key rotated by command signs after a minute, and a compromised one is removed at once', async () => {
    const old = keys.getActive('ES256').kid
    const next = await keys.rotate('ES256')
    const token = await signed('ES256')
    assert.deepEqual([keys.getActive('ES256').kid, kids(keys).includes(next)], [old, true])
    clock.advance(minuteMs)
    assert.equal(keys.getActive('ES256').kid, next)
    assert.equal(await verifies(keys, token, clock), true)
    const safe = await keys.rotate('ES256', true)
    assert.equal(keys.getActive('ES256').kid, safe)
    assert.equal(await verifies(keys, token, clock), false)
    assert.ok(!kids(keys).includes(next))
  })
})

for (const minutes of [0, 5, 9.99]) {
  test(`a key rotated ${minutes} minutes after the next one was published ends no token early`, async () => {
    const database = await memoryDatabase(migrateIdentity)
    const clock = manualClock()
    const keys = keysOf(database, clock)
    await keys.refresh()
    clock.advance(90 * dayMs - 10 * minuteMs)
    await keys.refresh()
    clock.advance(minutes * minuteMs)
    const byCommand = await keys.rotate('ES256')
    const tokens: { token: string; endsAt: number }[] = []
    for (let passed = 0; passed < 150; passed++) {
      const endsAt = clock.now() + maxTokenMs
      const exp = Math.floor(endsAt / 1000)
      tokens.push({ token: await signJwt(keys.getActive('ES256'), 'at+jwt', { exp }), endsAt })
      clock.advance(minuteMs)
      await keys.refresh()
      const alive = tokens.filter((one) => one.endsAt > clock.now())
      for (const { token } of alive) assert.equal(await verifies(keys, token, clock), true, `after ${passed} minutes`)
    }
    assert.equal(keys.getActive('ES256').kid, byCommand)
    await database.close()
  })
}

test('a process that was suspended signs with no key that the others have left behind meanwhile', async (t) => {
  const database = await memoryDatabase(migrateIdentity)
  t.after(() => database.close())
  const clock = manualClock()
  const rows = postgresIdentityStore(database).signingKeys
  let reads = 0
  let afterRead: Promise<void> | undefined
  const list = async (now: number) => {
    reads++
    const found = await rows.list(now)
    await afterRead
    return found
  }
  const [add, replace, purge] = [rows.add.bind(rows), rows.replace.bind(rows), rows.purge.bind(rows)]
  const suspended = keysOf(database, clock, { store: { list, add, replace, purge } })
  const other = keysOf(database, clock)
  await suspended.refresh()
  const before = reads
  await suspended.getOrCreate('ES256')
  const { promise, resolve } = Promise.withResolvers<void>()
  afterRead = promise
  const unknown = suspended.findJwks(`${Buffer.from('{"kid":"unknown"}').toString('base64url')}.e30.`)
  while (reads === before) await nextTurn()
  const next = await other.rotate('ES256')
  clock.advance(2 * maxTokenMs)
  await rows.purge(clock.now())
  const signing = [1, 2, 3].map(() => suspended.getOrCreate('ES256'))
  resolve()
  await unknown
  assert.deepEqual(new Set((await Promise.all(signing)).map(({ kid }) => kid)), new Set([next]))
  assert.equal(reads, before + 2, 'that which began before, and one of all callers')
  clock.advance(-maxTokenMs)
  const safe = await other.rotate('ES256', true)
  assert.equal((await suspended.getOrCreate('ES256')).kid, safe, 'also once the clock was set back')
})

test('what a process signs after it stood still while it generated a key is accepted', async (t) => {
  const database = await memoryDatabase(migrateIdentity)
  t.after(() => database.close())
  const clock = manualClock()
  const keys = keysOf(database, clock, {
    encryptionKey: new SlowRing([encryptionSecret], () => clock.advance(2 * maxTokenMs)),
  })
  await keys.refresh()
  clock.advance(90 * dayMs)
  const made = await keys.refresh()
  assert.equal(made.length, 2)
  const [, { createdAt, activatesAt }] = made as [StoredKey, StoredKey]
  assert.deepEqual([createdAt, activatesAt], [clock.now(), clock.now() + 10 * minuteMs])
  const token = await signJwt(keys.getActive('RS256'), 'at+jwt', { exp: Math.floor((clock.now() + maxTokenMs) / 1000) })
  assert.equal(await verifies(keys, token, clock), true)
  const next = await keys.rotate('RS256')
  assert.equal(keys.list().find(({ kid }) => kid === next)?.activatesAt, clock.now() + minuteMs)
})

/** A key ring that does something before it seals. */
class SlowRing extends KeyRing {
  readonly #before: () => void

  constructor(secrets: readonly Secret[], before: () => void) {
    super(secrets)
    this.#before = before
  }

  override get current(): Secret {
    this.#before()
    return super.current
  }
}

test('the service rotates keys on schedule, records it, and still accepts earlier tokens', async () => {
  const running = await setup()
  const token = await serviceToken(running)
  running.clock.advance(90 * dayMs - 10 * minuteMs)
  for (const worker of running.identity.workers) worker.resume()
  while (running.identity.keys().keys.length < 4) await nextTurn()
  running.clock.advance(10 * minuteMs)
  const newer = await serviceToken(running)
  assert.notEqual(decodeProtectedHeader(newer).kid, decodeProtectedHeader(token).kid)
  assert.equal((await userById(running, newer)).statusCode, 200)
  const types = async () =>
    (await running.database.query("SELECT 1 FROM identity.audit_event WHERE type = 'key_rotated'")).rowCount
  while ((await types()) < 2) await nextTurn()
  await running.close()
})

const userById = (running: Running, token: string) =>
  running.http.inject({ url: '/users/alice', headers: { authorization: `Bearer ${token}` } })

describe('on PostgreSQL', () => {
  let server: Server | undefined
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  testWith('postgresql', 'processes that rotate concurrently create one key, and all sign with it', async () => {
    const database = await postgresDatabase(server as Server, 8)
    await migrateIdentity(database)
    const clock = manualClock()
    const processes = [1, 2, 3, 4].map(() => keysOf(database, clock))
    await Promise.all(processes.map((keys) => keys.refresh()))
    for (let round = 0; round < 5; round++) {
      clock.advance(90 * dayMs - 10 * minuteMs)
      const made = (await Promise.all(processes.map((keys) => keys.refresh()))).flat()
      assert.deepEqual(made.map(({ alg }) => alg).sort(), ['ES256', 'RS256'])
      clock.advance(10 * minuteMs)
      await Promise.all(processes.map((keys) => keys.refresh()))
      for (const alg of algorithms) {
        const signing = new Set(processes.map((keys) => keys.getActive(alg).kid))
        assert.deepEqual([...signing], [made.find((key) => key.alg === alg)?.kid])
      }
    }
    await database.close()
  })
})

test('private signing keys are sealed at rest and never published', async (t) => {
  const running = await setup()
  t.after(() => running.close())
  const { rows } = await running.database.query<{ private_sealed: string }>(
    'SELECT private_sealed FROM identity.signing_key',
  )
  assert.equal(rows.length, 2)
  for (const { private_sealed } of rows) assert.ok(!Buffer.from(private_sealed, 'base64url').includes('PRIVATE'))
  const jwks = (await running.http.inject('/.well-known/jwks.json')).json()
  assert.deepEqual(jwks.keys.map((key: { alg: string }) => key.alg).sort(), ['ES256', 'RS256'])
  for (const key of jwks.keys) for (const part of ['d', 'p', 'q', 'dp', 'dq', 'qi']) assert.ok(!(part in key))
})
