import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { clients, getTokens, users, webSecret } from '../support/journey.ts'
import { service, setupOnce } from '../support/setup.ts'

const running = setupOnce({ declared: { clients: [...clients, service], users } })

const refresh = (refresh_token: unknown, more: Record<string, string> = {}) =>
  running.post('/token', { grant_type: 'refresh_token', refresh_token: String(refresh_token), ...webSecret, ...more })

test('a refresh token is rotated at every use', async () => {
  const first = await getTokens(running)
  const second = await refresh(first.refresh_token)
  assert.equal(second.status, 200)
  assert.notEqual(second.body.refresh_token, first.refresh_token)
  assert.ok(second.body.id_token && second.body.access_token)
  assert.equal((await refresh(second.body.refresh_token)).status, 200)
})

test('a refresh token that was already used ends its family', async () => {
  const { refresh_token } = await getTokens(running)
  let current: unknown = refresh_token
  for (let turn = 0; turn < 5; turn++) current = (await refresh(current)).body.refresh_token
  assert.equal((await refresh(refresh_token)).body.error, 'invalid_grant')
  assert.equal((await refresh(current)).body.error, 'invalid_grant')
})

test('a repeat within the grace period gets the same successor until that was used', async () => {
  const { refresh_token } = await getTokens(running)
  const rotated = await refresh(refresh_token)
  running.clock.advance(9_000)
  const repeated = await refresh(refresh_token)
  assert.equal(repeated.body.refresh_token, rotated.body.refresh_token)
  const used = await refresh(rotated.body.refresh_token)
  assert.equal(used.status, 200)
  assert.equal((await refresh(refresh_token)).body.error, 'invalid_grant')
  assert.equal((await refresh(used.body.refresh_token)).body.error, 'invalid_grant', 'the family has ended')
})

test('a repeat after the grace period ends the family', async () => {
  const { refresh_token } = await getTokens(running)
  const rotated = await refresh(refresh_token)
  running.clock.advance(10_001)
  assert.equal((await refresh(refresh_token)).body.error, 'invalid_grant')
  assert.equal((await refresh(rotated.body.refresh_token)).body.error, 'invalid_grant')
})

test('a forged refresh token ends nothing', async () => {
  const { refresh_token = '' } = await getTokens(running)
  const [head, generation] = refresh_token.split('.')
  const forged = `${head}.${generation}.${'A'.repeat(43)}.${'A'.repeat(43)}`
  assert.equal((await refresh(forged)).body.error, 'invalid_grant')
  assert.equal((await refresh(refresh_token)).status, 200)
})

/** Answers how to put the families of all grants back to what they are now, as the restore of a backup does. */
async function backUpFamilies(): Promise<() => Promise<void>> {
  await running.database.query('DROP TABLE IF EXISTS family_backup')
  await running.database.query('CREATE TABLE family_backup AS SELECT * FROM identity.refresh_family')
  return async () => {
    await running.database.query('DELETE FROM identity.refresh_family')
    await running.database.query(
      `INSERT INTO identity.refresh_family (grant_id, generation, current_hash, previous_hash, successor_sealed,
         rotated_at, expires_at)
       SELECT grant_id, generation, current_hash, previous_hash, successor_sealed, rotated_at, expires_at
         FROM family_backup`,
    )
  }
}

const eventsOf = async (type: string) => {
  const text = 'SELECT details FROM identity.audit_event WHERE type = $1 ORDER BY at DESC'
  return (await running.database.query<{ details: object }>(text, [type])).rows.map(({ details }) => details)
}

test('a refresh token newer than a restored database is rejected, and is no reuse', async () => {
  const { refresh_token: first } = await getTokens(running)
  const second = (await refresh(first)).body.refresh_token
  const restore = await backUpFamilies()
  const { refresh_token: third, access_token } = (await refresh(second)).body
  running.clock.advance(60_000)
  await restore()
  const reuses = (await eventsOf('refresh_reused')).length
  for (let turn = 0; turn < 2; turn++) assert.equal((await refresh(third)).body.error, 'invalid_grant')
  assert.equal((await eventsOf('refresh_reused')).length, reuses)
  const [event, ...others] = (await eventsOf('refresh_ahead')) as { grant_id: string; generation: number }[]
  assert.deepEqual([event, others], [{ grant_id: event?.grant_id, generation: 3, current: 2 }, []])
  const authorization = `Bearer ${access_token}`
  assert.equal((await running.http.inject({ url: '/userinfo', headers: { authorization } })).statusCode, 200)
  assert.equal((await refresh(second)).body.error, 'invalid_grant', 'only a copy of it is left')
})

test('after a restore the use of an older refresh token still ends its family', async () => {
  const { refresh_token: first } = await getTokens(running)
  const second = (await refresh(first)).body.refresh_token
  const restore = await backUpFamilies()
  const third = (await refresh(second)).body.refresh_token
  running.clock.advance(60_000)
  await restore()
  const other = (await refresh(second)).body.refresh_token
  running.clock.advance(60_000)
  assert.equal((await refresh(third)).body.error, 'invalid_grant', 'another of its generation is the current one')
  assert.equal((await refresh(other)).body.error, 'invalid_grant', 'the family has ended')
  assert.equal((await eventsOf('refresh_reused')).length > 0, true)
})

test('a refresh needs the client’s own authentication', async () => {
  const { refresh_token = '' } = await getTokens(running)
  const form = { grant_type: 'refresh_token', refresh_token }
  assert.equal((await running.post('/token', { ...form, client_id: 'web' })).body.error, 'invalid_client')
  assert.equal((await running.post('/token', { ...form, client_id: 'spa' })).body.error, 'invalid_grant')
  assert.equal((await refresh(refresh_token)).status, 200)
})

test('a refresh may narrow the scope and the resource, never widen them', async () => {
  const { refresh_token } = await getTokens(running, {
    scope: 'openid offline_access read:users',
    extra: { resource: 'https://photos.example' },
  })
  const narrowed = await refresh(refresh_token, { scope: 'read:users' })
  assert.equal(narrowed.body.scope, 'read:users')
  assert.equal(decodeJwt(String(narrowed.body.access_token)).aud, 'https://photos.example')
  const widened = await refresh(narrowed.body.refresh_token, { scope: 'openid email' })
  assert.equal(widened.body.error, 'invalid_scope')
  const elsewhere = await refresh(narrowed.body.refresh_token, { resource: 'http://localhost:8080' })
  assert.equal(elsewhere.body.error, 'invalid_target')
  assert.equal((await refresh(narrowed.body.refresh_token)).body.scope, 'openid offline_access read:users')
})

test('a rejected refresh leaves the token unchanged', async () => {
  const { refresh_token } = await getTokens(running)
  assert.equal((await refresh(refresh_token, { scope: 'admin:all' })).body.error, 'invalid_scope')
  assert.equal((await refresh(refresh_token)).status, 200)
})

test('a grant without offline_access gets no refresh token', async () => {
  assert.ok(!('refresh_token' in (await getTokens(running, { scope: 'openid' }))))
})

test('devices of one user have separate families', async () => {
  const phone = await getTokens(running)
  const laptop = await getTokens(running)
  const rotated = await refresh(phone.refresh_token)
  await refresh(rotated.body.refresh_token)
  assert.equal((await refresh(phone.refresh_token)).body.error, 'invalid_grant')
  assert.equal((await refresh(laptop.refresh_token)).status, 200)
})

test('a revoked refresh token is rejected with everything under its grant', async () => {
  const tokens = await getTokens(running)
  const revoked = await running.post('/revoke', { token: tokens.refresh_token ?? '', ...webSecret })
  assert.deepEqual([revoked.status, revoked.text], [200, ''])
  assert.equal((await refresh(tokens.refresh_token)).body.error, 'invalid_grant')
  const authorization = `Bearer ${tokens.access_token}`
  assert.equal((await running.http.inject({ url: '/userinfo', headers: { authorization } })).statusCode, 401)
  const introspected = await running.post('/introspect', { token: tokens.access_token ?? '', ...webSecret })
  assert.deepEqual(introspected.body, { active: false })
  assert.equal((await running.post('/revoke', { token: 'unknown', ...webSecret })).status, 200)
  assert.equal((await running.post('/revoke', { token: 'unknown', client_id: 'web' })).status, 401)
})

test('a client cannot revoke or introspect tokens of another client', async () => {
  const tokens = await getTokens(running)
  assert.equal((await running.post('/revoke', { token: tokens.refresh_token ?? '', client_id: 'spa' })).status, 200)
  const { client_id, client_secret } = service
  const introspected = await running.post('/introspect', { token: tokens.access_token ?? '', client_id, client_secret })
  assert.deepEqual(introspected.body, { active: false })
  const byPublic = await running.post('/introspect', { token: tokens.access_token ?? '', client_id: 'spa' })
  assert.equal(byPublic.body.error, 'unauthorized_client')
  const own = await running.post('/introspect', { token: tokens.access_token ?? '', ...webSecret })
  assert.deepEqual([own.body.active, own.body.sub, own.body.client_id], [true, 'alice', 'web'])
  assert.equal((await refresh(tokens.refresh_token)).status, 200)
})
