import assert from 'node:assert/strict'
import { combinePolicies } from '../combination/combine.ts'
import type { Limiter } from '../limiter.ts'
import { definePolicy, tierPolicy } from '../policy.ts'

/** A limiter over the store under test, and its time. */
export interface Fixture {
  readonly limiter: Limiter
  at(milliseconds: number): void
}

const alice = { kind: 'user', id: 'alice' }
const bob = { kind: 'user', id: 'bob' }
const minute = 60_000
const tier = tierPolicy('free', { rpm: 5, daily: 100 })
const route = definePolicy('search', [{ name: 'search-rpm', limit: 3, windowMs: minute }])
const everybody = definePolicy('everybody', [{ name: 'everybody-rpm', limit: 6, windowMs: minute }], { shared: true })
const all = [tier, route, everybody]

/** Behaviours of policies that are counted together. */
export const combinedBehaviours: readonly (readonly [title: string, body: (fixture: Fixture) => Promise<void>])[] = [
  ['a request is counted by all of its policies, each under its own counter', countsAll],
  ['when one of several policies rejects, none is charged', chargesNone],
  ['a shared policy counts all identifiers together', countsSharedPolicy],
  ['a client that admitsAfterWait for Retry-After is admitted by all policies', admitsAfterWait],
  ['concurrent requests under several policies are admitted up to the tightest limit', admitsConcurrently],
  ['a shadow rule among several policies counts and never rejects', countsShadowRules],
  ['a cost is acquired from all of several policies or from none', acquiresWhole],
  ['buckets and windows of several policies are acquired together', combinesAlgorithms],
]

async function remainingByRule(limiter: Limiter, who = alice): Promise<Record<string, number>> {
  const { rules } = await limiter.peek(all, who)
  return Object.fromEntries(rules.map(({ name, remaining }) => [name, remaining]))
}

async function countsAll({ limiter, at }: Fixture): Promise<void> {
  at(0)
  const { allowed, limit, remaining, rules } = await limiter.check(all, alice)
  assert.deepEqual([allowed, limit, remaining], [true, 3, 2])
  assert.deepEqual(
    rules.map(({ name, policy, remaining: rest }) => [policy, name, rest]),
    [
      ['free', 'rpm', 4],
      ['free', 'daily', 99],
      ['search', 'search-rpm', 2],
      ['everybody', 'everybody-rpm', 5],
    ],
  )
  assert.equal((await limiter.peek(tier, alice)).remaining, 4)
  assert.equal((await limiter.peek(route, alice)).remaining, 2)
  assert.equal((await limiter.peek(everybody, bob)).remaining, 5)
}

async function chargesNone({ limiter, at }: Fixture): Promise<void> {
  at(0)
  for (let i = 0; i < 3; i++) assert((await limiter.check(all, alice)).allowed)
  for (let i = 0; i < 5; i++) {
    const { allowed, rules, limit } = await limiter.check(all, alice)
    const rejecting = rules.filter((rule) => !rule.allowed).map(({ policy }) => policy)
    assert.deepEqual([allowed, limit, rejecting], [false, 3, ['search']])
  }
  assert.deepEqual(await remainingByRule(limiter), { rpm: 2, daily: 97, 'search-rpm': 0, 'everybody-rpm': 3 })
  for (let i = 0; i < 3; i++) assert((await limiter.check(all, bob)).allowed)
  at(1_000)
  const { allowed, rules } = await limiter.check([tier, everybody], alice)
  const rejecting = rules.filter((rule) => !rule.allowed).map(({ policy }) => policy)
  assert.deepEqual([allowed, rejecting], [false, ['everybody']])
  assert.deepEqual(await remainingByRule(limiter), { rpm: 2, daily: 97, 'search-rpm': 0, 'everybody-rpm': 0 })
}

async function countsSharedPolicy({ limiter, at }: Fixture): Promise<void> {
  at(0)
  let admitted = 0
  for (let i = 0; i < 10; i++)
    if ((await limiter.check([tier, everybody], { kind: 'user', id: `user-${i}` })).allowed) admitted++
  assert.equal(admitted, 6)
  assert(!(await limiter.check(everybody, { kind: 'ip', id: '192.0.2.1' })).allowed)
  assert.equal((await limiter.peek(tier, { kind: 'user', id: 'user-9' })).remaining, 5)
}

async function admitsAfterWait({ limiter, at }: Fixture): Promise<void> {
  let now = 7_000
  at(now)
  for (let i = 0; i < 6; i++) await limiter.check([tier, everybody], { kind: 'user', id: `user-${i}` })
  for (let i = 0; i < 5; i++) await limiter.check(tier, alice)
  for (const policies of [all, [everybody, tier]]) {
    const { allowed, retryAfterSeconds } = await limiter.check(policies, alice)
    assert(!allowed)
    now += retryAfterSeconds * 1000
    at(now)
    assert((await limiter.check(policies, alice)).allowed)
    for (let i = 0; i < 6; i++) await limiter.check(policies, alice)
  }
}

async function admitsConcurrently({ limiter, at }: Fixture): Promise<void> {
  at(0)
  const wide = definePolicy('wide', [{ name: 'wide', limit: 1_000, windowMs: minute }])
  const tight = definePolicy('tight', [{ name: 'tight', limit: 20, windowMs: minute }], { shared: true })
  const users = Array.from({ length: 10 }, (_, i) => ({ kind: 'user', id: `user-${i}` }))
  const decisions = await Promise.all(
    Array.from({ length: 100 }, async (_, i) => {
      const user = users[i % users.length] ?? alice
      return limiter.check([wide, tight], user)
    }),
  )
  const admitted = decisions.filter(({ allowed }) => allowed).length
  assert.equal(admitted, 20)
  let charged = 0
  for (const user of users) charged += 1_000 - (await limiter.peek(wide, user)).remaining
  assert.equal(charged, admitted)
}

async function countsShadowRules({ limiter, at }: Fixture): Promise<void> {
  at(0)
  const candidate = definePolicy('candidate', [{ name: 'candidate', limit: 1, windowMs: minute, shadow: true }])
  for (let i = 0; i < 5; i++) assert((await limiter.check([tier, candidate], alice)).allowed)
  const { allowed, limit, rules } = await limiter.check([tier, candidate], alice)
  assert.deepEqual([allowed, limit], [false, 5])
  assert.equal(rules.find(({ policy }) => policy === 'candidate')?.remaining, 0)
}

async function acquiresWhole({ limiter, at }: Fixture): Promise<void> {
  at(0)
  assert((await limiter.check(all, alice, { cost: 2 })).allowed)
  assert(!(await limiter.check(all, alice, { cost: 2 })).allowed)
  assert.deepEqual(await remainingByRule(limiter), { rpm: 3, daily: 98, 'search-rpm': 1, 'everybody-rpm': 4 })
}

async function combinesAlgorithms({ limiter, at }: Fixture): Promise<void> {
  const burst = definePolicy('burst', [{ name: 'burst', algorithm: 'token-bucket', limit: 2, refillPerSecond: 0.1 }])
  const policies = combinePolicies([tier, burst, everybody])
  at(0)
  for (let i = 0; i < 2; i++) assert((await limiter.check(policies, alice)).allowed)
  const { allowed, retryAfterSeconds, rules } = await limiter.check(policies, alice)
  assert.deepEqual([allowed, retryAfterSeconds], [false, 10])
  assert.deepEqual(
    rules.map(({ remaining }) => remaining),
    [3, 98, 0, 4],
  )
  at(10_000)
  assert((await limiter.check(policies, alice)).allowed)
}
