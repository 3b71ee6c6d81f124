import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startWebPush } from '@gatehouse/fakes'
import type { Provider } from '@gatehouse/providers'
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

/** A server that answers every push with one status. */
async function startAnswering(t: TestContext, status: number): Promise<number> {
  const server = createHttpServer((request, response) => {
    request.resume()
    response.writeHead(status).end()
  })
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

/** Web Push with a push service, and how the processes of a fleet take calls with subscriptions. */
async function setupPush(t: TestContext) {
  const fake = await startWebPush()
  const { publicKey: public_key, privateKey: private_key } = fake
  const keys = { public_key, private_key, subject: 'mailto:ops@example.com' }
  const s = await setup({ work: false })
  const providers: Provider[] = []
  t.after(async () => {
    for (const provider of providers) await provider.close?.()
    await fake.stop()
    await s.close()
  })
  /** A process that was just started: no server has accepted a push of its own. */
  const startProcess = () => {
    const provider = buildProvider({ provider: 'web-push', ...keys, hosts: ['127.0.0.1'], allow_private: true })
    providers.push(provider)
    const pool = new ProviderPool([provider], s.store.providerHealth, breaker, s.clock)
    const send = async (address: string) => {
      const result = await sendOne(provider, createMessage({ channel: 'push', target: browserAt(address) }))
      await pool.reportResults(provider, [result])
      return result
    }
    /** Sends as the probe of a breaker that is half open. */
    const probe = async (address: string) => {
      assert.partialDeepStrictEqual(await pool.probe(browserAt(address), {}), { kind: 'provider', isProbe: true })
      return send(address)
    }
    return { provider, pool, send, probe }
  }
  const subscription = fake.subscribe()
  const forge = (port: number) =>
    JSON.stringify({ ...JSON.parse(subscription), endpoint: `http://127.0.0.1:${port}/push/a` })
  return { s, fake, startProcess, ...startProcess(), subscription, forge }
}

const browserAt = (address: string) => ({ id: 'browser', address, service: 'web' })

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

test('one server that rejects a key no service has accepted yet does not stop pushes, many do', async (t) => {
  for (const status of [400, 401, 403])
    await t.test(String(status), async (t) => {
      const { s, provider, pool, send, subscription, forge } = await setupPush(t)
      const rejecting = forge(await startAnswering(t, status))
      for (let calls = 1; calls < breaker.minCalls; calls++) {
        assert.equal((await send(rejecting)).kind, 'misconfigured')
        assert.equal(pool.isPaused(provider), false)
      }
      await send(rejecting)
      assert.equal(pool.isPaused(provider), true)
      const problem = 'SELECT misconfigured AS answer FROM notify.provider_health'
      const { rows } = await s.database.query<{ answer: string }>(problem)
      assert.match(rows[0]?.answer ?? '', new RegExp(`\\b${status}\\b`), 'the operator sees why')
      s.clock.advance(breaker.openMs)
      assert.partialDeepStrictEqual(await pool.probe(browserAt(subscription), {}), { isProbe: true })
      assert.equal((await send(subscription)).kind, 'accepted')
      assert.equal(pool.isPaused(provider), false)
      assert.equal((await send(rejecting)).kind, 'permanent', 'the key is good, the subscription is not')
    })
})

test('a push service that accepted a push and then fails opens the breaker', async (t) => {
  const { fake, provider, pool, send, subscription } = await setupPush(t)
  assert.equal((await send(subscription)).kind, 'accepted')
  await fake.stop()
  for (let calls = 0; calls < breaker.minCalls; calls++) assert.equal((await send(subscription)).kind, 'transient')
  assert.equal(pool.isPaused(provider), true)
})

test('pushes that fail where none was accepted before do not hide that a push service fails', async (t) => {
  const { fake, provider, pool, send, subscription, forge } = await setupPush(t)
  assert.equal((await send(subscription)).kind, 'accepted')
  const closed = forge(await findClosedPort())
  for (let calls = 0; calls < 2 * breaker.minCalls; calls++) await send(closed)
  await fake.stop()
  for (let calls = 0; calls < breaker.minCalls; calls++) await send(subscription)
  assert.equal(pool.isPaused(provider), true)
})

test('a probe that fails where no push was accepted closes no breaker, an accepted push does', async (t) => {
  const { s, fake, send, startProcess, subscription, forge } = await setupPush(t)
  assert.equal((await send(subscription)).kind, 'accepted')
  fake.answerNext('drop', breaker.minCalls + 1)
  for (let calls = 0; calls < breaker.minCalls; calls++) assert.equal((await send(subscription)).kind, 'ambiguous')
  const { pool, provider, probe } = startProcess()
  await pool.refresh()
  const openings = async () => (await s.database.query('SELECT openings FROM notify.provider_health')).rows
  for (const [address, kind] of [
    [forge(await findClosedPort()), 'rate_limited'],
    [forge(await startMute(t)), 'ambiguous'],
    [forge(await startAnswering(t, 404)), 'dead_token'],
    [forge(await startAnswering(t, 413)), 'permanent'],
    [forge(await startAnswering(t, 429)), 'rate_limited'],
    [subscription, 'ambiguous'],
  ] as const) {
    s.clock.advance(provider.timeoutMs)
    assert.equal((await probe(address)).kind, kind)
    assert.equal(pool.isPaused(provider), true, kind)
    assert.deepEqual(await openings(), [{ openings: 1 }])
  }
  s.clock.advance(provider.timeoutMs)
  assert.equal((await probe(subscription)).kind, 'accepted')
  assert.equal(pool.isPaused(provider), false)
  assert.deepEqual(await openings(), [{ openings: 0 }])
})
