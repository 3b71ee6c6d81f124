import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { type Caller, createAccessControl } from '../../src/request/caller.ts'
import { defaultScopes } from '../../src/request/scopes.ts'

const minute = 60_000

test('what cannot be undone requires a person to have signed in within ten minutes', async () => {
  const clock = manualClock()
  const scopes = new Set(['admin:notifications'])
  const statusOf = async (caller: Partial<Caller>) => {
    const whole: Caller = { subject: 'olga', kind: 'user', scopes, roles: [], ...caller }
    const access = createAccessControl(async () => whole, defaultScopes, clock)
    try {
      await access.allowRecent('manage')({} as FastifyRequest)
      return 200
    } catch (error) {
      assert.ok(error instanceof Problem)
      if (error.status === 401)
        assert.match(error.headers['www-authenticate'] ?? '', /insufficient_user_authentication", max_age="600"/)
      return error.status
    }
  }
  assert.equal(await statusOf({ authTime: clock.now() - 9 * minute }), 200)
  assert.equal(await statusOf({ authTime: clock.now() - 10 * minute }), 401)
  assert.equal(await statusOf({}), 401, 'an API key of a user')
  assert.equal(await statusOf({ kind: 'client' }), 200)
  assert.equal(await statusOf({ authTime: clock.now(), scopes: new Set(['read:delivery']) }), 403)
})
