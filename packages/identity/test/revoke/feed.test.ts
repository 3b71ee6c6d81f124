import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, createRevocations, createRevocationsReader } from '@gatehouse/bearer'
import { Problem } from '@gatehouse/kit'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { setupOnce } from '../support/setup.ts'

const reader = { client_id: 'reader', client_secret: 'reader-secret-0123456789', scopes: ['read:revocations'] }
const running = setupOnce({ declared: { clients: [reader] } })

const add = (subject: string) => {
  const now = running.clock.now()
  const entry = { subject, before: Math.floor(now / 1000) + 1 }
  return postgresIdentityStore(running.database).revocations.add(entry, { now, expiresAt: now + 3_600_000 })
}

/** Puts the feed back to its first `position` entries, with the counter of positions, as the restore of a dump does. */
async function restoreTo(position: number): Promise<void> {
  await running.database.query('DELETE FROM identity.revocation WHERE position > $1', [position])
  await running.database.query(`SELECT setval('identity.revocation_position_seq', $1)`, [position])
}

/** Follows the feed by HTTP, as a gateway in another process does. */
async function followFeed() {
  const { scopes: _, ...credentials } = reader
  const answer = await running.post('/token', { grant_type: 'client_credentials', ...credentials })
  const authorization = `Bearer ${answer.body.access_token}`
  const failures: unknown[] = []
  const read = createRevocationsReader({
    url: 'http://localhost:8080/revocations',
    token: { current: async () => String(answer.body.access_token), discard: () => assert.fail('it is valid') },
    fetch: async (url) => {
      const { pathname, search } = new URL(String(url))
      const { payload, statusCode } = await running.http.inject({
        url: `${pathname}${search}`,
        headers: { authorization },
      })
      return new Response(payload, { status: statusCode, headers: { 'content-type': 'application/json' } })
    },
  })
  const revocations = createRevocations({
    read,
    clock: running.clock,
    observer: { revocationsFailed: ({ cause }) => failures.push(cause) },
  })
  const isRevoked = (subject: string) =>
    revocations.covers({ subject, kind: 'user', scopes: [], issuedAt: running.clock.now() } as unknown as Caller)
  return { revocations, isRevoked, failures }
}

test('a reader of a feed that went back gets what is revoked then, and keeps what it had', async () => {
  await add('before')
  const position = Number((await running.identity.revocations(undefined)).next)
  for (const subject of ['lost-1', 'lost-2', 'lost-3']) await add(subject)
  const { revocations, isRevoked, failures } = await followFeed()
  await revocations.poll()
  await restoreTo(position)
  await revocations.poll()
  assert.equal(isRevoked('afterwards'), false)
  await add('afterwards')
  await revocations.poll()
  assert.deepEqual(failures, [])
  for (const subject of ['before', 'lost-1', 'lost-3', 'afterwards']) assert.equal(isRevoked(subject), true, subject)
})

test('a cursor ahead of the feed is gone, one behind its removed entries is not', async () => {
  await add('removed')
  const { next } = await running.identity.revocations(undefined)
  await running.database.query('DELETE FROM identity.revocation')
  assert.deepEqual(await running.identity.revocations(next), { revocations: [], next })
  await assert.rejects(
    running.identity.revocations(String(Number(next) + 1)),
    (error) => error instanceof Problem && error.status === 410,
  )
})

test('nothing was ever revoked: the feed is read from its beginning', async () => {
  await running.database.query('TRUNCATE identity.revocation RESTART IDENTITY')
  assert.deepEqual(await running.identity.revocations(undefined), { revocations: [], next: '0' })
  await assert.rejects(running.identity.revocations('1'), Problem)
  await add('first')
  assert.equal((await running.identity.revocations('0')).next, '1')
})
