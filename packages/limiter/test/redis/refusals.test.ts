import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddRequest, definePolicy, NotCountedError } from '@gatehouse/limiter'
import { type RedisClient, redisStore } from '@gatehouse/limiter/redis'
import { type ServerName, startRedis, testWith } from '@gatehouse/testing'
import { Redis } from 'ioredis'
import { createClient } from 'redis'

const policy = definePolicy('route', [{ name: 'route', limit: 1_000, windowMs: 60_000 }])
const request: AddRequest = { policy, identifier: { kind: 'user', id: 'alice' }, amounts: [1], now: Date.now() }

/** A client of either library that queues nothing while it is away from its server. */
async function connect(library: 'ioredis' | 'redis', url: string): Promise<{ client: RedisClient; end(): void }> {
  if (library === 'redis') {
    const client = createClient({ url, disableOfflineQueue: true })
    client.on('error', () => {})
    await client.connect()
    return { client, end: () => client.destroy() }
  }
  const client = new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0 })
  client.on('error', () => {})
  await once(client, 'ready')
  return { client, end: () => client.disconnect() }
}

/** The error of a call that is to fail. */
async function failureOf(result: unknown): Promise<unknown> {
  try {
    await result
  } catch (error) {
    return error
  }
  return undefined
}

for (const [program, library] of [
  ['redis-server', 'ioredis'],
  ['redis-server', 'redis'],
  ['valkey-server', 'ioredis'],
] as const satisfies readonly (readonly [ServerName, string])[])
  testWith(program, `what ${program} refuses, or ${library} cannot send, is known not to be counted`, async () => {
    const server = await startRedis({ server: program })
    const operator = new Redis(server.url)
    const { client, end } = await connect(library, server.url)
    const store = redisStore(client)
    const refused = (code: RegExp) =>
      assert.rejects(
        async () => store.add(request),
        (error) => error instanceof NotCountedError && code.test(error.message),
      )
    try {
      await store.add(request)
      await operator.config('SET', 'maxmemory', '1')
      await refused(/OOM/)
      await operator.config('SET', 'maxmemory', '0')
      await operator.call('REPLICAOF', '127.0.0.1', '1')
      await refused(/READONLY/)
      await operator.call('REPLICAOF', 'NO', 'ONE')
      const { counters } = await store.add(request)
      const [previous = 0, current = 0] = counters
      assert.equal(previous + current, 2)
      operator.disconnect()
      await server.stop()
      // The first call may find the connection open, and its end then leaves unknown what was counted.
      while (!((await failureOf(store.add(request))) instanceof NotCountedError));
    } finally {
      operator.disconnect()
      end()
      await server.stop()
    }
  })
