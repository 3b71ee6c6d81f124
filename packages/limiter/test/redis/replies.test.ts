import assert from 'node:assert/strict'
import { definePolicy } from '@gatehouse/limiter'
import { type IoredisClient, redisStore } from '@gatehouse/limiter/redis'
import { startRedis, testWith } from '@gatehouse/testing'
import { Redis } from 'ioredis'

const policy = definePolicy('route', [{ name: 'route', limit: 3, windowMs: 3_600_000 }])
const identifier = { kind: 'user', id: 'alice' }

/** What becomes of a reply on its way, as behind a proxy that is not Redis. */
type Distortion = (reply: readonly unknown[]) => unknown

testWith('redis-server', 'a reply that is not one of the script decides nothing, and teaches no time', async () => {
  const server = await startRedis()
  const redis = new Redis(server.url)
  let distort: Distortion = (reply) => reply
  const client: IoredisClient = {
    evalsha: async (...values) => distort((await redis.evalsha(...values)) as unknown[]),
    eval: async (...values) => distort((await redis.eval(...values)) as unknown[]),
  }
  const store = redisStore(client)
  const calls = {
    acquire: async () => store.acquire({ policy, identifier, cost: 1, now: 0 }),
    add: async () => store.add({ policy, identifier, amounts: [0], now: 0 }),
  }
  try {
    for (const [name, distorted] of [
      ['acquire', (reply) => reply.slice(0, -1)],
      ['acquire', (reply) => [...reply.slice(0, 2), ...reply.slice(2).map(() => 'x')]],
      ['add', (reply) => [...reply.slice(0, 2), '1']],
      ['add', (reply) => reply.slice(0, 2)],
      ['acquire', (reply) => ['time', ...reply.slice(1)]],
      ['add', () => []],
      ['acquire', () => 'OK'],
    ] as const satisfies readonly (readonly [keyof typeof calls, Distortion])[]) {
      distort = distorted
      await assert.rejects(
        calls[name],
        { name: 'TypeError', message: /not one of its script/ },
        `${name}: ${distorted}`,
      )
      distort = (reply) => reply
      const { now, counters } = await calls.add()
      assert.ok(counters.every(Number.isFinite) && Math.abs(now - Date.now()) < 60_000, `${name}: ${distorted}`)
    }
  } finally {
    redis.disconnect()
    await server.stop()
  }
})
