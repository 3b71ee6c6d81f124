import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ManagementChange } from '@gatehouse/kit'
import { setup } from '../support/setup.ts'

const attempt = { account: 'alice', device: 'unknown' }
const ofAttempt = 'account-device/alice%7Cunknown'

/** A gateway that rejects further codes for an account, and a user whose quota is used up. */
async function rejecting() {
  const changes: ManagementChange[] = []
  const made = await setup({
    tiers: { free: { rpm: 2 }, ops: { rpm: 1_000 } },
    planOf: async (subject) => ({ plan: subject === 'u1' ? 'free' : 'ops' }),
    attemptLimits: {
      factor: { limit: 1, windowSeconds: 900 },
      'phone-code-range': { limit: 1, windowSeconds: 900 },
      'token-client': { limit: 1, windowSeconds: 900, failureMode: 'local' },
    },
    maxGrant: 5,
    recordChange: async (change) => void changes.push(change),
  })
  const { limit } = made.gateway.attempts
  for (const policy of ['factor', 'phone-code-range', 'token-client'])
    for (let n = 0; n < 2; n++) await limit(policy, attempt)
  for (let n = 0; n < 3; n++) await made.http.inject({ url: '/open', headers: made.bearer() })
  const changesBy = (claims: Record<string, unknown>) => {
    const headers = made.bearer({ sub: 'op', ...claims })
    const send = (method: 'POST' | 'DELETE', path: string, payload?: object) =>
      made.http.inject({ method, url: `/admin/v1/limits/${path}`, headers, ...(payload ? { payload } : {}) })
    return {
      grant: (path: string, amount = 1) => send('POST', `${path}/grant`, { amount }),
      reset: (path: string) => send('DELETE', path),
      unblock: (caller: string) => send('POST', `callers/${caller}/unblock`),
    }
  }
  const now = made.clock.now() / 1_000
  /** Whether a code of the account is looked at; afterwards none is. */
  const allowed = async () => {
    const first = await limit('factor', attempt)
    await limit('factor', attempt)
    return first.allowed
  }
  return { ...made, changes, changesBy, now, allowed }
}

for (const policy of ['factor', 'phone-code-range', 'token-client'])
  test(`support gives nothing back that ${policy} counted, not even one attempt`, async () => {
    const { changesBy, changes, now, allowed } = await rejecting()
    const support = changesBy({ scope: 'read:limits write:limit-grants', auth_time: now })
    const refused = await support.grant(`${policy}/${ofAttempt}`)
    assert.equal(refused.statusCode, 403, refused.body)
    assert.match(refused.json().detail, /without admin:limits: it limits attempts/)
    assert.deepEqual(changes, [])
    assert.equal(await allowed(), false)
    assert.equal((await support.grant('free/user/u1')).statusCode, 200)
  })

for (const kind of ['people', 'clients'] as const)
  test(`attempts are given back by owners alone, ${kind} too`, async () => {
    const { changesBy, changes, now, allowed } = await rejecting()
    const who = kind === 'people' ? { auth_time: now } : { sub: 'ops', client_id: 'ops' }
    const ways = (scope: string) => {
      const by = changesBy({ ...who, scope })
      return [
        () => by.grant(`factor/${ofAttempt}`),
        () => by.reset(`factor/${ofAttempt}`),
        () => by.unblock(ofAttempt),
      ] as const
    }
    for (const way of ways('admin:limits')) {
      const refused = await way()
      assert.equal(refused.statusCode, 403, refused.body)
      assert.match(refused.json().detail, /^Attempts are given back by owners alone \(scope admin:roles\): .*factor/)
      assert.match(String(refused.headers['www-authenticate']), /insufficient_scope.*admin:roles/)
    }
    assert.deepEqual(changes, [])
    for (const way of ways('admin:limits admin:roles')) {
      assert.equal(await allowed(), false)
      assert.match(String((await way()).statusCode), /^20/)
      assert.equal(await allowed(), true)
    }
    assert.equal(changes.length, 3)
  })

test('a caller’s policies say which limit attempts, so that others than owners offer nothing', async () => {
  const { http, bearer } = await rejecting()
  const headers = bearer({ sub: 'op', scope: 'read:limits read:personal-data' })
  const policiesOf = async (caller: string) => {
    const { policies } = (await http.inject({ url: `/admin/v1/limits/callers/${caller}`, headers })).json()
    return policies as readonly { readonly policy: string; readonly limits_attempts: boolean }[]
  }
  const ofAlice = await policiesOf(ofAttempt)
  assert.deepEqual(
    ofAlice.map(({ policy, limits_attempts }) => [policy, limits_attempts]),
    ['factor', 'phone-code-range', 'token-client'].map((policy) => [policy, true]),
  )
  assert.ok((await policiesOf('user/u1')).every(({ limits_attempts }) => !limits_attempts))
})

test('who gives much back must have signed in within ten minutes, or be a client', async () => {
  const { changesBy, changes, now } = await rejecting()
  const scope = 'admin:limits admin:roles'
  const ways = (claims: Record<string, unknown>) => {
    const by = changesBy({ scope, ...claims })
    return [
      () => by.grant('free/user/u1', 6),
      () => by.grant(`factor/${ofAttempt}`),
      () => by.reset('free/user/u1'),
      () => by.unblock('user/u1'),
    ] as const
  }
  for (const claims of [{}, { auth_time: now - 600 }])
    for (const way of ways(claims)) {
      const refused = await way()
      assert.equal(refused.statusCode, 401, refused.body)
      const challenge = 'Bearer error="insufficient_user_authentication", max_age="600"'
      assert.equal(refused.headers['www-authenticate'], challenge)
    }
  assert.deepEqual(changes, [])
  assert.equal((await changesBy({ scope }).grant('free/user/u1', 5)).statusCode, 200, 'a small grant is not asked')
  for (const claims of [{ auth_time: now - 599 }, { sub: 'ops', client_id: 'ops' }])
    for (const way of ways(claims)) assert.match(String((await way()).statusCode), /^20/)
})

for (const way of ['unblock', 'reset', 'grant'] as const)
  test(`after ${way} attempts are known to be rejected no longer`, async () => {
    const { gateway, changesBy, now } = await rejecting()
    const { blocked } = gateway.attempts
    assert.ok((await blocked('factor', attempt)) > 0)
    const by = changesBy({ scope: 'admin:limits admin:roles', auth_time: now })
    const answer = await (way === 'unblock' ? by.unblock(ofAttempt) : by[way](`factor/${ofAttempt}`))
    assert.match(String(answer.statusCode), /^20/, answer.body)
    assert.equal(await blocked('factor', attempt), 0)
  })
