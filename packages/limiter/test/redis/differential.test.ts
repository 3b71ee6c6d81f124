import assert from 'node:assert/strict'
import { type Algorithm, definePolicy, memoryStore, type Policy, type Rule } from '@gatehouse/limiter'
import { redisStore } from '@gatehouse/limiter/redis'
import { startRedis, testWith } from '@gatehouse/testing'
import fc from 'fast-check'
import { Redis } from 'ioredis'

const start = Date.UTC(2026, 0, 1)

const rule = fc.record({
  algorithm: fc.constantFrom<Algorithm>('sliding-window', 'fixed-window', 'token-bucket'),
  limit: fc.integer({ min: 3, max: 12 }),
  windowMs: fc.constantFrom(1_000, 7_000, 60_000),
  refillPerSecond: fc.constantFrom(0.1, 0.5, 3),
  shadow: fc.boolean(),
})
const history = fc.array(
  fc.record({
    waitMs: fc.nat(9_000),
    who: fc.constantFrom('alice', 'böb:1', '{c}'),
    act: fc.oneof(
      { weight: 8, arbitrary: fc.record({ acquire: fc.integer({ min: 1, max: 3 }) }) },
      { weight: 1, arbitrary: fc.record({ add: fc.integer({ min: -3, max: 3 }) }) },
      { weight: 1, arbitrary: fc.record({ raise: fc.nat(8) }) },
      { weight: 1, arbitrary: fc.constant({ reset: true }) },
      { weight: 1, arbitrary: fc.constant({ peek: true }) },
    ),
  }),
  { minLength: 1, maxLength: 40 },
)

testWith(
  'redis-server',
  'Redis and memory give the same results, number for number, for any sequence of calls',
  async () => {
    const server = await startRedis()
    const client = new Redis(server.url)
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(rule, { minLength: 1, maxLength: 3 }), history, async (rules, steps) => {
          await client.flushall()
          const policy = policyOf(rules)
          const redis = redisStore(client, { clock: 'limiter' })
          const memory = memoryStore()
          let now = start
          for (const { waitMs, who, act } of steps) {
            now += waitMs
            const identifier = { kind: 'user', id: who }
            const answers = []
            for (const store of [memory, redis]) {
              if ('acquire' in act) answers.push(await store.acquire({ policy, identifier, cost: act.acquire, now }))
              else if ('add' in act)
                answers.push(await store.add({ policy, identifier, amounts: each(policy, act.add), now }))
              else if ('raise' in act)
                answers.push(
                  await store.raise(
                    policy,
                    identifier,
                    policy.rules.flatMap(() => [act.raise, act.raise]),
                    now,
                  ),
                )
              else if ('reset' in act) answers.push(await store.reset(policy, identifier, now))
              else answers.push(await store.peek(policy, identifier, now))
            }
            assert.deepEqual(seen(answers[1], act), seen(answers[0], act))
          }
          await everyKeyExpires(client)
        }),
        { numRuns: 150 },
      )
    } finally {
      client.disconnect()
      await server.stop()
    }
  },
)

function policyOf(
  rules: readonly { algorithm: Algorithm; limit: number; windowMs: number; refillPerSecond: number; shadow: boolean }[],
): Policy {
  return definePolicy(
    'random',
    rules.map(({ algorithm, limit, windowMs, refillPerSecond, shadow }, i): Rule => {
      const name = `rule ${i}`
      return algorithm === 'token-bucket'
        ? { name, algorithm, limit, refillPerSecond, shadow }
        : { name, algorithm, limit, windowMs, shadow }
    }),
  )
}

const each = (policy: Policy, amount: number): number[] => policy.rules.map(() => amount)

/** Whether the next request fits is decided by acquire and peek alone. */
function seen(answer: unknown, act: object): unknown {
  if (answer === undefined || 'acquire' in act || 'peek' in act) return answer
  return { counters: (answer as { counters: number[] }).counters }
}

async function everyKeyExpires(client: Redis): Promise<void> {
  for (const key of await client.keys('*')) assert((await client.pttl(key)) > 0, `${key} never expires`)
}
