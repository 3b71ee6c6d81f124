import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { freePort } from '@gatehouse/testing'
import { Producer } from '../../src/demo/producer.ts'
import { type Program, started } from '../support/program.ts'

const secret = 'the-secret-of-an-operator-of-the-test'
const folder = mkdtempSync(join(tmpdir(), 'management-audit-'))
const file = join(folder, 'gatehouse.yaml')
writeFileSync(
  file,
  `
clients:
  - client_id: operator
    client_secret: ${secret}
    grant_types: [client_credentials]
    scopes: [admin:notifications, admin:limits, admin:audit, write:notifications]
    plan: unlimited
max_limit_grant: 7
users: [{ id: alice, email: alice@example.com, email_verified: true, password: the-password-of-alice }]
`,
)
after(() => rmSync(folder, { recursive: true }))

const env = {
  GATEHOUSE_CONFIG: file,
  SERVICE_CLIENT_ID: 'services',
  SERVICE_CLIENT_SECRET: 'a-secret-between-the-services-0123456789',
}

interface Trail {
  readonly items: ReadonlyArray<{
    readonly action?: string
  }>
}

const template = '/v1/templates/hello/sms/en'
const limit = '/admin/v1/limits/free/user/alice'

async function operator(url: string): Promise<Producer> {
  const client = new Producer({ url, clientId: 'operator', clientSecret: secret })
  await client.signIn()
  return client
}

/** Changes something of notify and of the gateway, and expects both in identity's trail, as what they are. */
async function changesAreKept(front: string, trailAt: string): Promise<Producer> {
  const client = await operator(front)
  await client.call('PUT', template, { body: 'Hello' })
  await client.call('POST', `${limit}/grant`, { amount: 3 })
  const reader = await operator(trailAt)
  for (const [service, action, target] of [
    ['notify', 'templates.save', 'hello/sms/en'],
    ['gateway', 'limits.grant', 'free/user/alice'],
  ] as const) {
    const { items } = (await reader.call('GET', `/admin/v1/audit-events?service=${service}`)) as Trail
    const kept = items.filter((each) => each.action === action).map((each) => JSON.stringify(each))
    const [event = assert.fail(JSON.stringify(items)), ...more] = kept
    assert.deepEqual(more, [])
    for (const expected of [target, '"operator"', '127.0.0.0/24']) assert.ok(event.includes(expected), event)
  }
  return client
}

test('changes of notify and gateway management are in the audit trail of identity', async () => {
  const program = await started({ env })
  await changesAreKept(program.url, program.url)
  await program.stop()
})

test('apart it is too, a feed of recipients is not, and without identity nothing is changed', async () => {
  const [identityPort, notifyPort, gatewayPort] = [await freePort(), await freePort(), await freePort()]
  const identityUrl = `http://localhost:${identityPort}`
  const notifyUrl = `http://localhost:${notifyPort}`
  const addresses = { ...env, AUTH_URL: identityUrl, BASE_URL: `http://localhost:${gatewayPort}` }
  const start = (port: number, SERVICES: string): Promise<Program> =>
    started({ port, env: { ...addresses, SERVICES, IDENTITY_URL: identityUrl, NOTIFY_URL: notifyUrl } })
  const identity = await start(identityPort, 'identity')
  const notify = await start(notifyPort, 'notify')
  const gateway = await start(gatewayPort, 'gateway')
  const client = await changesAreKept(gateway.url, identity.url)

  const reachable = async () => (await client.call('GET', '/v1/recipients/alice')) as { readonly email?: string }
  assert.equal((await eventually(reachable)).email, 'a•••@example.com', 'identity feeds its users with its own scope')
  const trail = (await (await operator(identity.url)).call('GET', '/admin/v1/audit-events?service=notify')) as Trail
  assert.ok(trail.items.every(({ action }) => !action?.startsWith('recipients.')))

  await identity.stop()
  const before = Date.now()
  await assert.rejects(client.call('PUT', template, { body: 'Changed' }), /503/)
  await assert.rejects(client.call('DELETE', limit), /503/)
  assert.ok(Date.now() - before < 10_000, 'it waits for the trail no longer than it may')
  const { items: templates } = (await client.call('GET', '/v1/templates/hello')) as { items: { body: string }[] }
  assert.deepEqual(
    templates.map(({ body }) => body),
    ['Hello'],
  )
  await gateway.stop()
  await notify.stop()
})

/** Asks until there is an answer. */
async function eventually<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempts = 0; ; attempts++) {
    try {
      return await ask()
    } catch (error) {
      if (attempts > 200) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}
