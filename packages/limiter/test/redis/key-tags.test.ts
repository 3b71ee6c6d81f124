import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLimiter, definePolicy, tierPolicy } from '@gatehouse/limiter'
import { redisStore } from '@gatehouse/limiter/redis'
import { startRedis, testWith } from '@gatehouse/testing'
import { Redis } from 'ioredis'
import { KeyTags, slotOf } from '../../src/redis/key-tags.ts'

const start = Date.UTC(2026, 0, 1)
const ids = Array.from({ length: 6_000 }, (_, i) => `user-${i}`)

test('the slot of a key is the one that Redis Cluster specifies', () => {
  assert.equal(slotOf('123456789'), 0x31c3)
  assert.equal(slotOf(''), 0)
  assert.equal(slotOf('foo'), 12_182)
})

for (const [count, primaries] of [
  [1, 1],
  [12, 2],
  [12, 3],
  [12, 4],
  [15, 3],
  [300, 3],
  [1_024, 5],
] as const)
  test(`${count} tags give ${primaries} primaries with equal ranges of slots equal shares`, () => {
    const tags = new KeyTags(count)
    const used = new Set(ids.map((id) => tags.of(id)))
    if (count <= 300) assert.equal(used.size, count)
    const load = new Array<number>(primaries).fill(0)
    for (const id of ids) {
      const primary = Math.floor((slotOf(tags.of(id).slice(1, -1)) * primaries) / 16_384)
      load[primary] = (load[primary] ?? 0) + 1
    }
    for (const share of load) assert(Math.abs(share / ids.length - 1 / primaries) < 0.04, `${load}`)
  })

test('a number of tags that is not an integer from 1 to 1,024 is rejected', () => {
  for (const count of [0, -1, 1.5, 1_025, Number.NaN]) assert.throws(() => new KeyTags(count), /from 1 to 1024/)
})

testWith('redis-server', 'keys with tags are those of the specification outside of the braces', async () => {
  const server = await startRedis()
  const redis = new Redis(server.url)
  try {
    const policies = [
      tierPolicy('free', { rpm: 10, daily: 1_000 }),
      definePolicy('b', [{ name: 'b', algorithm: 'token-bucket', limit: 5, refillPerSecond: 1 }]),
    ]
    const written: string[][] = []
    for (const keyTag of ['none', 'braces'] as const) {
      await redis.flushall()
      const store = redisStore(redis, { clock: 'limiter', keyTag })
      const limiter = createLimiter({ store, clock: { now: () => start }, deadlineMs: 5_000 })
      for (const id of ['alice', '{a}', 'ä b'])
        for (const policy of policies) {
          await limiter.check(policy, { kind: 'user', id })
          await limiter.grant(policy, { kind: 'user', id }, 1)
        }
      written.push((await redis.keys('*')).filter((key) => key !== 'rl:tags').sort())
    }
    const [plain = [], tagged = []] = written
    assert.equal(tagged.filter((key) => /^[^{}]*\{\d+\}[^{}]*$/.test(key)).length, plain.length)
    assert.deepEqual(tagged.map((key) => key.replace(/\{\d+\}/, '')).sort(), plain)
    assert(plain.includes(`rl:user:alice:${start / 60_000}`))
  } finally {
    redis.disconnect()
    await server.stop()
  }
})
