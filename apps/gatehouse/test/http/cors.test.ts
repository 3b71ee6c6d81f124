import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '@gatehouse/testing'
import { started } from '../support/program.ts'

test('pages of the origins that are named may call the API under /v1/, and no others may', async (t) => {
  const config = join(temporaryFolder('gatehouse'), 'gatehouse.yaml')
  writeFileSync(config, 'cors_origins: ["https://app.example.com"]\n')
  const program = await started({ env: { GATEHOUSE_CONFIG: config } })
  t.after(() => program.stop())
  const ask = async (path: string, origin: string, init: RequestInit = {}) => {
    const { status, headers } = await fetch(`${program.url}${path}`, { ...init, headers: { ...init.headers, origin } })
    return [status, headers.get('access-control-allow-origin'), headers.get('access-control-allow-credentials')]
  }
  const preflight = {
    method: 'OPTIONS',
    headers: { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
  }
  const own = 'https://app.example.com'
  assert.deepEqual(await ask('/v1/users/alice/inbox', own), [401, own, null])
  assert.deepEqual(await ask('/v1/users/alice/inbox/read', own, preflight), [204, own, null])
  const allowed = await fetch(`${program.url}/v1/users/alice/choices/order.shipped`, {
    ...preflight,
    headers: { ...preflight.headers, origin: own },
  })
  assert.equal(allowed.headers.get('access-control-allow-methods'), 'GET, POST, PUT, PATCH, DELETE')
  // What the client sends and reads: entity tags, the last event of a stream, challenges and waits.
  assert.match(allowed.headers.get('access-control-allow-headers') ?? '', /if-match.*last-event-id/)
  const exposed = await fetch(`${program.url}/v1/event-types`, { headers: { origin: own } })
  for (const name of ['www-authenticate', 'retry-after', 'etag', 'x-request-id'])
    assert.ok(exposed.headers.get('access-control-expose-headers')?.includes(name), name)
  for (const origin of [
    'https://evil.example',
    'https://app.example.com.evil.example',
    'http://app.example.com',
    'null',
  ])
    assert.equal((await ask('/v1/users/alice/inbox/read', origin, preflight))[1], null)
  assert.equal((await ask('/admin/v1/users', own, preflight))[1], null)
})
