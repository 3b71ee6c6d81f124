import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, startPostgres, testWith } from '@gatehouse/testing'
import { migrateIdentity, postgresIdentityStore } from '../../../src/postgres/index.ts'
import type { SessionFilter, UserFilter } from '../../../src/store/index.ts'

const count = 100_000
const rounds = 40
/** What a person waits for, in milliseconds; the search of the console names a source as slow after it. */
const maxP95Ms = 300

const prefix = (text: string) => ({ prefix: { id: text, username: text } })
const userSearches: readonly (readonly [what: string, filter: UserFilter])[] = [
  ['everybody', {}],
  ['a prefix of all', prefix('u')],
  ['a prefix of a tenth', prefix('user-05')],
  ['a prefix of ten', prefix('user-04211')],
  ['a prefix of nobody', prefix('zzz')],
  ['a name', prefix('name.99999')],
  ['an address', { email: 'user77777@people.example' }],
  ['a phone number', { phoneNumber: '+44770042424' }],
  ['a rare plan', { plan: 'enterprise' }],
  ['a rare role', { role: 'editor' }],
  ['locked', { locked: true }],
  ['not verified', { verified: false }],
  ['locked and of a plan', { locked: true, plan: 'free' }],
  ['a role that nobody has', { role: 'nobody', verified: true }],
]
const sessionSearches: readonly (readonly [what: string, filter: SessionFilter])[] = [
  ['every session', {}],
  ['sessions of a user', { userId: 'user-004242' }],
  ['sessions of an address', { address: '10.0.16.146' }],
  ['sessions of a rare client', { clientId: 'rare' }],
  ['sessions of a common client', { clientId: 'common' }],
]

describe('searches among 100,000 users', () => {
  let server: Server | undefined
  let database: Database | undefined
  before(async () => {
    server = await startPostgres().catch(() => undefined)
    if (server === undefined) return
    database = await postgresDatabase(server, 2)
    await migrateIdentity(database)
    await fill(database)
  })
  after(async () => {
    await database?.close()
    await server?.stop()
  })
  const store = () => postgresIdentityStore(database ?? assert.fail('there is no database'))

  for (const [what, filter] of userSearches)
    testWith('postgresql', `users are found within 0.3 s: ${what}`, async (t) => {
      const p95 = await measure(() => store().userDirectory.search(filter, '', 50))
      t.diagnostic(`p95 ${p95.toFixed(1)} ms`)
      assert.ok(p95 < maxP95Ms, `${p95} ms`)
    })

  for (const [what, filter] of sessionSearches)
    testWith('postgresql', `sessions are found within 0.3 s: ${what}`, async (t) => {
      const p95 = await measure(() => store().sessionDirectory.list(filter, undefined, 50, 1_000))
      t.diagnostic(`p95 ${p95.toFixed(1)} ms`)
      assert.ok(p95 < maxP95Ms, `${p95} ms`)
    })
})

async function measure(run: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const start = performance.now()
    await run()
    times.push(performance.now() - start)
  }
  times.sort((a, b) => a - b)
  return times[Math.ceil(rounds * 0.95) - 1] ?? assert.fail('nothing was measured')
}

/** Users of every kind, a session for each, and two clients: one that is used a lot, one hardly ever. */
async function fill(on: Database): Promise<void> {
  await on.query(`INSERT INTO identity.subject (id, kind, plan)
    SELECT 'user-' || lpad(n::text, 6, '0'), 'user', CASE WHEN n % 10000 = 0 THEN 'enterprise' ELSE 'free' END
      FROM generate_series(0, ${count - 1}) n`)
  await on.query(`INSERT INTO identity.account
      (id, username, email, email_verified, password_changed_at, roles, claims, locked_at, created_at, updated_at)
    SELECT 'user-' || lpad(n::text, 6, '0'), 'name.' || n, 'User' || n || '@People.example', n % 1000 > 0, 1,
           CASE WHEN n % 20000 = 7 THEN ARRAY['editor'] ELSE '{}' END,
           jsonb_build_object('phone_number', '+44 7700 ' || lpad(n::text, 5, '0')),
           CASE WHEN n % 5000 = 3 THEN 1 END, 1, 1
      FROM generate_series(0, ${count - 1}) n`)
  await on.query(`INSERT INTO identity.session
      (id, secret_hash, user_id, auth_time, amr, remembered, user_agent, address, created_at, seen_at, expires_at)
    SELECT gen_random_uuid(), 'hash ' || n, 'user-' || lpad(n::text, 6, '0'), 1, '{pwd}', false, 'Browser',
           '10.0.' || n / 256 % 256 || '.' || n % 256, n, n, 1000000000
      FROM generate_series(0, ${count - 1}) n`)
  await on.query(`INSERT INTO identity.subject (id, kind) VALUES ('common', 'client'), ('rare', 'client')`)
  await on.query(`INSERT INTO identity.client (id, secret_hashes, metadata, created_at, updated_at)
    VALUES ('common', '{}', '{}', 1, 1), ('rare', '{}', '{}', 1, 1)`)
  await on.query(`INSERT INTO identity.session_client (session_id, client_id)
    SELECT id, CASE WHEN created_at % 30000 = 1 THEN 'rare' ELSE 'common' END FROM identity.session`)
  await on.query('ANALYZE')
}
