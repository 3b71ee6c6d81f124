import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort, startPostgres, startRedis, testWith } from '@gatehouse/testing'
import { Producer } from '../../src/demo/producer.ts'
import { readDeliveries } from '../../src/demo/settled.ts'
import { sharedSecrets } from '../support/apart.ts'
import { demoSecret } from '../support/demo-client.ts'
import { started } from '../support/program.ts'
import { eventually } from '../support/shop.ts'

interface ApiDescription {
  readonly info: { readonly description: string }
  readonly paths: object
}

/** Through the front door: a token, a notification that is sent, the user, and what is refused. */
async function journey(front: string, secret: string): Promise<void> {
  const producer = new Producer({ url: front, clientId: 'demo', clientSecret: secret })
  const data = { order_id: 'A-1', item: 'a bicycle', tracking_url: 'https://shop.example/A-1' }
  const { id, deliveries } = await producer.notify({ event: 'order.shipped', user_id: 'alice', data })
  assert.deepEqual(deliveries.map(({ channel, outcome }) => `${channel} ${outcome}`).sort(), [
    'email queued',
    'in-app queued',
    'push queued',
  ])
  const states = await readDeliveries(producer, [id])
  assert.deepEqual(
    states.map(({ state }) => state),
    ['sent', 'sent', 'sent'],
  )
  assert.deepEqual(await producer.gatehouse.users.getPlan({ id: 'alice' }), { id: 'alice', plan: 'free' })

  const anonymous = await fetch(`${front}/users/alice`)
  assert.equal(anonymous.status, 401)
  assert.match(anonymous.headers.get('www-authenticate') ?? '', /^Bearer /)
  const forged = await fetch(`${front}/users/alice`, { headers: { authorization: 'Bearer not.a.token' } })
  assert.equal(forged.status, 401)
}

test('all together on embedded engines, the journey works', async () => {
  const program = await started()
  await journey(program.url, demoSecret(program))
  assert.equal((await program.stop()).code, 0)
})

test('the journey works with each service in its own process on embedded engines', async () => {
  const [identityPort, notifyPort, gatewayPort] = [await freePort(), await freePort(), await freePort()]
  const identityUrl = `http://localhost:${identityPort}`
  const addresses = { ...sharedSecrets, AUTH_URL: identityUrl, BASE_URL: `http://localhost:${gatewayPort}` }
  const identity = await started({ port: identityPort, env: { ...addresses, SERVICES: 'identity' } })
  const notify = await started({
    port: notifyPort,
    env: { ...addresses, SERVICES: 'notify', IDENTITY_URL: identityUrl },
  })
  const gateway = await started({
    port: gatewayPort,
    env: { ...addresses, SERVICES: 'gateway', IDENTITY_URL: identityUrl, NOTIFY_URL: notify.url },
  })
  await journey(gateway.url, demoSecret(identity))

  const token = await tokenOf(gateway.url, demoSecret(identity))
  const limited = await fetch(`${gateway.url}/users/alice`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(limited.headers.get('x-ratelimit-limit'), '100', "the client's plan is looked up over HTTP")
  // A service that has to write its document first may be left out of one answer, which says so.
  const isDescribed = (paths: object) => ['/token', '/v1/notify', '/admin/v1/limits'].every((path) => path in paths)
  await eventually(async () => {
    const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as ApiDescription
    assert.ok(isDescribed(document.paths) || /^Left out/.test(document.info.description), document.info.description)
    return document.paths
  }, isDescribed)
  for (const program of [gateway, notify, identity]) {
    assert.equal((await fetch(`${program.url}/readyz`)).status, 200)
    assert.equal((await program.stop()).code, 0)
  }
})

test('identity behind the gateway sees the address of the caller, which nobody can forge', async () => {
  const [identityPort, gatewayPort] = [await freePort(), await freePort()]
  const identityUrl = `http://localhost:${identityPort}`
  const addresses = {
    ...sharedSecrets,
    AUTH_URL: identityUrl,
    BASE_URL: `http://localhost:${gatewayPort}`,
    LOG_LEVEL: 'info',
  }
  const identity = await started({ port: identityPort, env: { ...addresses, SERVICES: 'identity' } })
  const env = { ...addresses, SERVICES: 'gateway', IDENTITY_URL: identityUrl, TRUSTED_PROXIES: '127.0.0.1,::1' }
  const gateway = await started({ port: gatewayPort, env })
  const revoke = (url: string, headers: Record<string, string>) => fetch(`${url}/revoke`, { method: 'POST', headers })
  await revoke(gateway.url, { 'x-forwarded-for': '192.0.2.77', 'x-gatehouse-forwarded': '1 192.0.2.79 x' })
  await revoke(identityUrl, { 'x-forwarded-for': '192.0.2.78', 'x-gatehouse-forwarded': '1 192.0.2.78 x' })
  await gateway.stop()
  const { stdout } = await identity.stop()
  const lines = stdout.split('\n').filter((line) => line.includes('"path":"/revoke"'))
  const [proxied, direct] = lines.map((line) => (JSON.parse(line) as { ip: string }).ip)
  assert.equal(proxied, '192.0.2.77')
  assert.match(direct ?? '', /^(127\.0\.0\.1|[0:]+1)$/)
})

async function tokenOf(url: string, secret: string): Promise<string> {
  const answer = await fetch(`${url}/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: 'demo', client_secret: secret }),
  })
  return ((await answer.json()) as { access_token: string }).access_token
}

for (const service of ['identity', 'notify', 'gateway']) {
  test(`${service} alone starts, answers its health and stops`, async () => {
    const program = await started({ env: { SERVICES: service } })
    assert.equal((await fetch(`${program.url}/healthz`)).status, 200)
    assert.ok(program.stdout().includes(`(${service})`))
    assert.equal((await program.stop()).code, 0)
  })
}

testWith(
  'postgresql',
  'all together on PostgreSQL and Redis, the journey works, and a second process shares the work',
  async () => {
    const [postgres, redis] = [await startPostgres(), await startRedis()]
    const env = {
      ...sharedSecrets,
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      GATEHOUSE_CONFIG: 'apps/gatehouse/test/support/production.yaml',
    }
    const first = await started({ env })
    const second = await started({ env: { ...env, AUTH_URL: first.url, BASE_URL: first.url } })
    try {
      const producer = new Producer({ url: first.url, clientId: 'demo', clientSecret: 'the-secret-of-the-demo-client' })
      const { id, deliveries } = await producer.notify({
        event: 'order.shipped',
        user_id: 'alice',
        data: { item: 'a bicycle' },
      })
      assert.deepEqual(
        deliveries.map(({ channel, outcome }) => [channel, outcome]),
        [['in-app', 'queued']],
      )
      assert.deepEqual(
        (await readDeliveries(producer, [id])).map(({ state }) => state),
        ['sent'],
      )
      const request = {
        event: 'order.shipped',
        user_id: 'alice',
        data: { item: 'a tent' },
        channels: ['email', 'in-app'],
      } as const
      const named = await producer.notify(request)
      assert.deepEqual(
        named.deliveries.map(({ channel, outcome }) => `${channel} ${outcome}`).sort(),
        ['email undeliverable', 'in-app queued'],
        'a channel that is off carries nothing',
      )
      assert.equal((await fetch(`${first.url}/dev/mailbox`)).status, 404, 'production has no dev mailbox')
      const token = await tokenOf(first.url, 'the-secret-of-the-demo-client')
      const elsewhere = await fetch(`${second.url}/users/alice`, { headers: { authorization: `Bearer ${token}` } })
      assert.deepEqual(await elsewhere.json(), { id: 'alice', plan: 'free' })
    } finally {
      await second.stop()
      await first.stop()
      await redis.stop()
      await postgres.stop()
    }
  },
)
