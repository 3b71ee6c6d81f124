import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startWebPush } from '@gatehouse/fakes'
import { ProviderPool } from '../../src/deliver/providers/provider-pool.ts'
import { buildProvider, createMessage, sendOne } from '../support/providers/providers.ts'
import { setup } from '../support/setup.ts'

const breaker = { windowMs: 30_000, minCalls: 20, failureRate: 0.5, openMs: 10_000, maxOpenMs: 300_000 }

/** A server that takes what it is sent, and closes the connection. */
async function startMute(t: TestContext): Promise<number> {
  const server = createServer((socket) => socket.once('data', () => socket.destroy()).on('error', () => {}))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

/** A port at which nothing answers. */
async function findClosedPort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  await once(server.close(), 'close')
  return port
}

/** Web Push with a push service, and how a breaker takes calls with subscriptions. */
async function setupPush(t: TestContext) {
  const fake = await startWebPush()
  const { publicKey: public_key, privateKey: private_key } = fake
  const keys = { public_key, private_key, subject: 'mailto:ops@example.com' }
  const provider = buildProvider({ provider: 'web-push', ...keys, hosts: ['127.0.0.1'], allow_private: true })
  const s = await setup({ work: false })
  t.after(async () => {
    await provider.close?.()
    await fake.stop()
    await s.close()
  })
  const pool = new ProviderPool([provider], s.store.providerHealth, breaker, s.clock)
  const send = async (address: string) => {
    const target = { id: 'browser', address, service: 'web' }
    const result = await sendOne(provider, createMessage({ channel: 'push', target }))
    await pool.reportResults(provider, [result])
    return result
  }
  const subscription = fake.subscribe()
  const forge = (port: number) =>
    JSON.stringify({ ...JSON.parse(subscription), endpoint: `http://127.0.0.1:${port}/push/a` })
  return { fake, provider, pool, send, subscription, forge }
}

test('subscriptions at servers that are no push services do not open the breaker of all', async (t) => {
  const { provider, pool, send, subscription, forge } = await setupPush(t)
  for (const [port, kind] of [
    [await findClosedPort(), 'rate_limited'],
    [await startMute(t), 'ambiguous'],
  ] as const)
    for (let calls = 0; calls < breaker.minCalls; calls++) {
      const result = await send(forge(port))
      assert.equal(result.kind, kind, 'no attempt is lost to an outage of ours')
      assert.equal(pool.isPaused(provider), false)
    }
  assert.equal((await send(subscription)).kind, 'accepted')
})

test('a push service that accepted a push and then fails opens the breaker', async (t) => {
  const { fake, provider, pool, send, subscription } = await setupPush(t)
  assert.equal((await send(subscription)).kind, 'accepted')
  await fake.stop()
  for (let calls = 0; calls < breaker.minCalls; calls++) assert.equal((await send(subscription)).kind, 'transient')
  assert.equal(pool.isPaused(provider), true)
})
