import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { clients, getCode, getTokens, hiddenFields, TestBrowser, users, webSecret } from '../support/journey.ts'
import { type Running, service, setup, type TestResponse } from '../support/setup.ts'

let running: Running
let flooded = false
before(async () => {
  running = await setup({
    declared: { clients: [...clients, service], users },
    limit: async (policy) =>
      flooded && policy.startsWith('token') ? { allowed: false, retryAfter: 3 } : { allowed: true },
  })
})
after(() => running.close())
beforeEach(() => {
  flooded = false
})

const resultOf = ({ status, body, headers }: TestResponse) => [status, body.error, headers['retry-after']]
const invalid = [400, 'invalid_grant', undefined]
const limited = [429, 'temporarily_unavailable', '3']

const exchange = (code: string, code_verifier: string) =>
  running.post('/token', { grant_type: 'authorization_code', code, code_verifier, ...webSecret })
const refresh = (refresh_token: unknown) =>
  running.post('/token', { grant_type: 'refresh_token', refresh_token: String(refresh_token), ...webSecret })

test('a client over its limit gets temporarily_unavailable with Retry-After and loses nothing', async () => {
  const { code, code_verifier } = await getCode(running)
  flooded = true
  const { client_id, client_secret } = service
  const credentials = { grant_type: 'client_credentials', client_id, client_secret }
  assert.deepEqual(resultOf(await running.post('/token', credentials)), limited)
  assert.deepEqual(resultOf(await exchange(code, code_verifier)), limited)
  flooded = false
  const tokens = await exchange(code, code_verifier)
  assert.equal(tokens.status, 200)
  flooded = true
  assert.deepEqual(resultOf(await refresh(tokens.body.refresh_token)), limited)
  flooded = false
  assert.equal((await refresh(tokens.body.refresh_token)).status, 200)
})

test('a replayed code is rejected and ends its grant even over the limit', async () => {
  const { code, code_verifier } = await getCode(running)
  const tokens = await exchange(code, code_verifier)
  flooded = true
  assert.deepEqual(resultOf(await exchange(code, code_verifier)), invalid)
  flooded = false
  assert.deepEqual(resultOf(await refresh(tokens.body.refresh_token)), invalid)
})

test('wrong code_verifiers and expired codes are handled as usual even over the limit', async () => {
  const invalidated = await getCode(running)
  flooded = true
  assert.deepEqual(resultOf(await exchange(invalidated.code, 'A'.repeat(43))), invalid)
  flooded = false
  assert.deepEqual(resultOf(await exchange(invalidated.code, invalidated.code_verifier)), invalid)
  const late = await getCode(running)
  running.clock.advance(61_000)
  flooded = true
  assert.deepEqual(resultOf(await exchange(late.code, late.code_verifier)), invalid)
})

test('a reused refresh token ends its family even over the limit', async () => {
  const first = (await getTokens(running)).refresh_token
  const second = (await refresh(first)).body.refresh_token
  flooded = true
  assert.deepEqual(resultOf(await refresh(first)), limited, 'its response may have been lost')
  running.clock.advance(11_000)
  assert.deepEqual(resultOf(await refresh(first)), invalid)
  flooded = false
  assert.deepEqual(resultOf(await refresh(second)), invalid)
  const reused = `SELECT 1 FROM identity.audit_event WHERE type = 'refresh_reused'`
  assert.equal((await running.database.query(reused)).rowCount, 1)
})

test('a refresh token newer than a restored database is rejected even over the limit', async () => {
  const first = (await getTokens(running)).refresh_token
  const { rows } = await running.database.query<{ grant_id: string; current_hash: string }>(
    'SELECT grant_id, current_hash FROM identity.refresh_family ORDER BY rotated_at DESC, grant_id DESC LIMIT 1',
  )
  const { grant_id, current_hash } = rows[0] ?? assert.fail('there is no family')
  const second = (await refresh(first)).body.refresh_token
  await running.database.query(
    `UPDATE identity.refresh_family SET generation = generation - 1, current_hash = $2, previous_hash = NULL
      WHERE grant_id = $1`,
    [grant_id, current_hash],
  )
  flooded = true
  assert.deepEqual(resultOf(await refresh(second)), invalid)
  const ahead = `SELECT 1 FROM identity.audit_event WHERE type = 'refresh_ahead'`
  assert.equal((await running.database.query(ahead)).rowCount, 1)
})

test('a device over its limit gets its final errors, and slow_down otherwise', async () => {
  const begin = async () => {
    const { body } = await running.post('/device_authorization', { client_id: 'tv', scope: 'openid' })
    return body as { device_code: string; user_code: string }
  }
  const poll = async (device_code: string) => {
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
    return resultOf(await running.post('/token', { grant_type, device_code, client_id: 'tv' }))
  }
  const [denied, late, waiting] = [await begin(), await begin(), await begin()]
  const browser = new TestBrowser(running)
  const page = await browser.signIn(await browser.get('/device'))
  const confirm = await browser.post('/device', { ...hiddenFields(page), user_code: denied.user_code })
  await browser.submit(confirm, { decision: 'deny' })
  flooded = true
  assert.deepEqual(await poll('unknown'), invalid)
  assert.deepEqual(await poll(denied.device_code), [400, 'access_denied', undefined])
  assert.deepEqual(await poll(waiting.device_code), [429, 'slow_down', '3'])
  flooded = false
  assert.deepEqual(
    await poll(waiting.device_code),
    [400, 'authorization_pending', undefined],
    'it was not counted as a poll',
  )
  flooded = true
  running.clock.advance(600_000)
  assert.deepEqual(await poll(late.device_code), [400, 'expired_token', undefined])
})
