import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { freePort } from '@gatehouse/testing'
import { started } from '../support/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'opaque-'))
after(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'gatehouse.yaml')
const client = { client_id: 'opaque', client_secret: 'the-secret-of-opaque-tokens' }
writeFileSync(
  file,
  `clients:
  - client_id: ${client.client_id}
    client_secret: ${client.client_secret}
    access_token_format: opaque
    plan: unlimited
    scopes: [read:users, 'write:notifications']
users:
  - id: alice
    password: correct horse battery
`,
)

const form = (fields: Record<string, string>) => ({
  method: 'POST',
  body: new URLSearchParams({ ...client, ...fields }),
})

/** An opaque token opens our own APIs until it is revoked; a made-up one opens nothing. */
async function journey(front: string): Promise<void> {
  const answer = await fetch(`${front}/token`, form({ grant_type: 'client_credentials' }))
  const { access_token: token } = (await answer.json()) as { access_token: string }
  assert.match(token, /^at_[\w-]{43}$/)
  const ask = (path: string, bearer = token, init: RequestInit = {}) =>
    fetch(`${front}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    })
  const user = await ask('/users/alice')
  assert.equal(user.status, 200)
  assert.deepEqual(await user.json(), { id: 'alice', plan: 'free' })
  const unknownEvent = JSON.stringify({ event: 'no.such.event', user_id: 'alice', data: {} })
  assert.equal(
    (await ask('/v1/notify', token, { method: 'POST', body: unknownEvent })).status,
    422,
    'past the bearer check',
  )
  assert.equal((await ask('/admin/v1/users')).status, 403)
  const forged = await ask('/users/alice', `at_${'A'.repeat(43)}`)
  assert.equal(forged.status, 401)
  assert.match(forged.headers.get('www-authenticate') ?? '', /error="invalid_token"/)
  assert.equal((await fetch(`${front}/revoke`, form({ token }))).status, 200)
  while ((await ask('/users/alice')).status === 200);
  assert.equal((await ask('/users/alice')).status, 401)
}

test('an opaque access token opens our own APIs, and ends when it is revoked', async () => {
  const program = await started({ env: { GATEHOUSE_CONFIG: file } })
  await journey(program.url)
  assert.equal((await program.stop()).code, 0)
})

test('an opaque access token opens the APIs where the services run apart too', async () => {
  const [identityPort, notifyPort, gatewayPort] = [await freePort(), await freePort(), await freePort()]
  const identityUrl = `http://localhost:${identityPort}`
  const shared = {
    GATEHOUSE_CONFIG: file,
    SERVICE_CLIENT_ID: 'services',
    SERVICE_CLIENT_SECRET: 'a-secret-among-the-services',
    ENCRYPTION_KEY: 'zX9-kq3vTn2_pWs7Lm4Rb8Yc1Dh6Fj5G',
    AUTH_URL: identityUrl,
    BASE_URL: `http://localhost:${gatewayPort}`,
  }
  const identity = await started({ port: identityPort, env: { ...shared, SERVICES: 'identity' } })
  const apart = { ...shared, IDENTITY_URL: identityUrl }
  const notify = await started({ port: notifyPort, env: { ...apart, SERVICES: 'notify' } })
  const gateway = await started({ port: gatewayPort, env: { ...apart, SERVICES: 'gateway', NOTIFY_URL: notify.url } })
  await journey(gateway.url)
  for (const program of [gateway, notify, identity]) assert.equal((await program.stop()).code, 0)
})
