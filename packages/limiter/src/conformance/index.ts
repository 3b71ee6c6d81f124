import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLimiter, type Limiter } from '../limiter.ts'
import type { Policy } from '../policy.ts'
import { definePolicy, tierPolicy } from '../policy.ts'
import type { CounterStore } from '../store.ts'
import { combinedBehaviours } from './combined.ts'
import { type Timetable, timetables } from './timetable.ts'

export { type FleetOptions, type FleetOutcome, simulateFleet } from '../simulation/fleet.ts'

/** Options of {@link storeConformance}. */
export interface ConformanceOptions {
  /** Prefix of every test title. */
  readonly name: string
  /** Registers a test. Default: `test` of node:test. */
  readonly test?: (title: string, body: () => Promise<void>) => void
  /** Creates an empty store that counts by the limiter's clock, and a function that closes it. */
  setup(): Promise<{
    store: CounterStore
    /** Releases what the store holds. */
    close(): Promise<void>
  }>
}

interface Fixture {
  readonly limiter: Limiter
  readonly store: CounterStore
  at(milliseconds: number): void
}

const start = Date.UTC(2026, 0, 1)
/** These tests are about counting, not about speed: even on a busy machine no check may time out. */
const deadlineMs = 60_000
const user = { kind: 'user', id: 'alice' }

/**
 * Registers the tests that every store has to pass, one for each behaviour. A store that passes may be used with
 * `createLimiter`.
 *
 * @example
 * storeConformance({ name: 'mine', setup: async () => ({ store: myStore(), close: async () => {} }) })
 */
export function storeConformance(options: ConformanceOptions): void {
  const registerTest = options.test ?? ((title, body) => test(title, body))
  const register = (title: string, body: (fixture: Fixture) => Promise<void>): void => {
    registerTest(`${options.name}: ${title}`, async () => {
      const { store, close } = await options.setup()
      let now = start
      const limiter = createLimiter({ store, clock: { now: () => now }, deadlineMs })
      try {
        await body({
          limiter,
          store,
          at(milliseconds) {
            now = start + milliseconds
          },
        })
      } finally {
        await close()
      }
    })
  }

  for (const [title, body] of combinedBehaviours) register(title, body)
  for (const timetable of timetables) register(timetable.title, (fixture) => followsTimetable(fixture, timetable))
  register('a rejected request is not counted by the windows that would have admitted it', countsAllOrNothing)
  register('concurrent requests are admitted up to the limit exactly', admitsConcurrently)
  register('a cost is acquired as a whole or not at all', acquiresWhole)
  register('peek acquires nothing, and says whether the next request would be admitted', peeksOnly)
  register('granted units can be used again', grantsUnits)
  register('a grant after which the next request is still rejected says so', grantsTooFew)
  register('amounts of the previous window are counted in that window', countsPreviousWindow)
  register('raising counts to their value changes nothing, and never lowers them', raisesCounts)
  register('raising lowers a bucket to the remembered tokens, refilled since, and never fills it', lowersBuckets)
  register('a reset deletes the counters of one identifier and no other', resetsOne)
  register('counters that were granted or reset are not raised', keepsAdjustments)
  register('identifiers that look like parts of keys have counters of their own', separatesIdentifiers)
  register('tiers share their counters', sharesTiers)
}

async function followsTimetable({ limiter, at }: Fixture, { policy, checks }: Timetable): Promise<void> {
  for (const [seconds, admitted, remaining, why] of checks) {
    at(seconds * 1000)
    const decision = await limiter.check(policy, user)
    assert.deepEqual([seconds, decision.allowed, decision.remaining], [seconds, admitted, remaining], why)
  }
}

const twoWindows: Policy = definePolicy('two windows', [
  { name: 'narrow', limit: 2, windowMs: 60_000 },
  { name: 'wide', limit: 5, windowMs: 3_600_000 },
])

async function countsAllOrNothing({ limiter, at }: Fixture): Promise<void> {
  at(0)
  for (let i = 0; i < 10; i++) await limiter.check(twoWindows, user)
  const { rules } = await limiter.peek(twoWindows, user)
  assert.deepEqual(
    rules.map((rule) => [rule.name, rule.remaining]),
    [
      ['narrow', 0],
      ['wide', 3],
    ],
  )
}

async function admitsConcurrently({ limiter, at }: Fixture): Promise<void> {
  at(30_000)
  const policy = definePolicy('concurrent', [{ name: 'concurrent', limit: 20, windowMs: 60_000 }])
  const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.check(policy, user)))
  assert.equal(decisions.filter(({ allowed }) => allowed).length, 20)
}

async function acquiresWhole({ limiter, at }: Fixture): Promise<void> {
  at(0)
  assert.equal((await limiter.check(twoWindows, user, { cost: 2 })).remaining, 0)
  at(120_000)
  assert((await limiter.check(twoWindows, user, { cost: 2 })).allowed)
  at(240_000)
  assert(!(await limiter.check(twoWindows, user, { cost: 2 })).allowed)
  assert((await limiter.check(twoWindows, user)).allowed)
}

async function peeksOnly({ limiter, at }: Fixture): Promise<void> {
  at(0)
  for (let i = 0; i < 5; i++) assert((await limiter.peek(twoWindows, user)).allowed)
  for (let i = 0; i < 2; i++) await limiter.check(twoWindows, user)
  const { allowed, retryAfterSeconds } = await limiter.peek(twoWindows, user)
  assert.deepEqual([allowed, retryAfterSeconds], [false, 61])
}

async function grantsUnits({ limiter, at }: Fixture): Promise<void> {
  at(0)
  for (let i = 0; i < 2; i++) await limiter.check(twoWindows, user)
  await limiter.grant(twoWindows, user, 1)
  assert((await limiter.check(twoWindows, user)).allowed)
  assert(!(await limiter.check(twoWindows, user)).allowed)
}

const countsRejected: Policy = definePolicy('counts rejected', [
  { name: 'minute', algorithm: 'fixed-window', limit: 2, windowMs: 60_000 },
])

async function grantsTooFew({ limiter, at }: Fixture): Promise<void> {
  at(0)
  for (let i = 0; i < 4; i++) await limiter.check(countsRejected, user)
  for (const [units, allowed] of [
    [1, false],
    [2, true],
  ] as const) {
    const granted = await limiter.grant(countsRejected, user, units)
    const next = await limiter.peek(countsRejected, user)
    assert.deepEqual([granted.allowed, next.allowed], [allowed, allowed], `${units} units`)
    assert.deepEqual([granted.remaining, granted.retryAfterSeconds], [next.remaining, next.retryAfterSeconds])
  }
}

async function countsPreviousWindow({ store }: Fixture): Promise<void> {
  const later = start + 60_000
  await store.acquire({ policy: twoWindows, identifier: user, cost: 1, now: start })
  await store.acquire({ policy: twoWindows, identifier: user, cost: 1, now: later })
  await store.add({ policy: twoWindows, identifier: user, amounts: [4, 4], now: later, countedAt: start + 30_000 })
  assert.deepEqual((await store.peek(twoWindows, user, later)).counters, [5, 1, 0, 6])
}

async function raisesCounts({ store }: Fixture): Promise<void> {
  await store.raise(twoWindows, user, [0, 2, 0, 3], start)
  await store.raise(twoWindows, user, [0, 1, 0, 3], start)
  const { counters } = await store.peek(twoWindows, user, start)
  assert.deepEqual(counters, [0, 2, 0, 3])
}

const bucket: Policy = definePolicy('bucket', [
  { name: 'bucket', algorithm: 'token-bucket', limit: 5, refillPerSecond: 0.1 },
])

async function lowersBuckets({ store }: Fixture): Promise<void> {
  await store.raise(bucket, user, [1, start], start)
  await store.raise(bucket, user, [4, start], start)
  assert.deepEqual((await store.peek(bucket, user, start)).counters, [1, start])
  await store.raise(bucket, user, [1, start], start + 10_000)
  assert.deepEqual((await store.peek(bucket, user, start + 10_000)).counters, [2, start + 10_000])
}

async function resetsOne({ limiter, at }: Fixture): Promise<void> {
  at(0)
  const bob = { kind: 'user', id: 'bob' }
  for (let i = 0; i < 2; i++) for (const who of [user, bob]) await limiter.check(twoWindows, who)
  await limiter.reset(twoWindows, user)
  assert((await limiter.peek(twoWindows, user)).allowed)
  assert(!(await limiter.peek(twoWindows, bob)).allowed)
}

async function keepsAdjustments({ store }: Fixture): Promise<void> {
  const bob = { kind: 'user', id: 'bob' }
  for (const who of [user, bob]) await store.raise(twoWindows, who, [0, 2, 0, 3], start)
  await store.grant(twoWindows, user, 1, start)
  await store.reset(twoWindows, bob, start)
  for (const who of [user, bob]) await store.raise(twoWindows, who, [0, 2, 0, 3], start)
  assert.deepEqual((await store.peek(twoWindows, user, start)).counters, [0, 1, 0, 2])
  assert.deepEqual((await store.peek(twoWindows, bob, start)).counters, [0, 0, 0, 0])
}

async function separatesIdentifiers({ limiter, at }: Fixture): Promise<void> {
  at(0)
  const ids = ['a', 'a:1', 'a%3A1', '{a}', 'a b', 'ä', '*']
  for (const id of ids)
    for (const kind of ['user', 'ip']) {
      const { remaining } = await limiter.check(twoWindows, { kind, id })
      assert.equal(remaining, 1, `${kind} ${id}`)
    }
}

async function sharesTiers({ limiter, at }: Fixture): Promise<void> {
  at(0)
  await limiter.check(tierPolicy('free', { rpm: 10, daily: 1_000 }), user)
  assert.equal((await limiter.check(tierPolicy('pro', { rpm: 100, daily: 100_000 }), user)).remaining, 98)
}
