import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLimiter, type Limiter } from '../limiter.ts'
import type { Policy } from '../policy.ts'
import { definePolicy, tierPolicy } from '../policy.ts'
import type { CounterStore } from '../store.ts'
import { combinedBehaviours } from './combined.ts'
import { type Timetable, timetables } from './timetable.ts'

export { type FleetOptions, type FleetOutcome, simulateFleet } from '../simulation/fleet.ts'

export interface ConformanceOptions {
  /** Stands before every title. */
  readonly name: string
  /** Registers a test; default: node:test's. */
  readonly test?: (title: string, body: () => Promise<void>) => void
  /** A fresh, empty store that counts by the limiter's clock, and how to end it. */
  setup(): Promise<{ store: CounterStore; close(): Promise<void> }>
}

interface Bench {
  readonly limiter: Limiter
  readonly store: CounterStore
  at(milliseconds: number): void
}

const start = Date.UTC(2026, 0, 1)
/** What is shown here is how a store counts, not how fast: on a busy machine no check may be answered without it. */
const deadlineMs = 60_000
const user = { kind: 'user', id: 'alice' }

/**
 * Registers (node:test) what every store has to show, one test for each behaviour. A store that passes may be handed to
 * `createLimiter`.
 */
export function storeConformance(options: ConformanceOptions): void {
  const register = options.test ?? ((title, body) => test(title, body))
  const shows = (title: string, body: (bench: Bench) => Promise<void>): void => {
    register(`${options.name}: ${title}`, async () => {
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

  for (const [title, body] of combinedBehaviours) shows(title, body)
  for (const timetable of timetables) shows(timetable.title, (bench) => keepsTimetable(bench, timetable))
  shows('a rejected request takes nothing from the windows that would have let it through', allOrNothing)
  shows('of many requests at the same time exactly as many are admitted as the limit says', exactAtOnce)
  shows('a cost is result whole or not at all', takesWhole)
  shows('peek takes nothing, and tells whether the next request would be admitted', peeks)
  shows('what is given back can be used again', givesBack)
  shows('what is told of the window before is counted in that window', countsThen)
  shows('raising counts to what they are changes nothing, and lowers nothing', raises)
  shows('a bucket is lowered to what is remembered of it, refilled since, and never filled', raisesBuckets)
  shows('a reset forgets one identifier and no other', resets)
  shows('what was given back or reset is raised by nobody', keepsGifts)
  shows('identifiers that look like parts of keys stay apart', staysApart)
  shows('tiers share their counters', sharesTiers)
}

async function keepsTimetable({ limiter, at }: Bench, { policy, moments }: Timetable): Promise<void> {
  for (const [seconds, admitted, remaining, why] of moments) {
    at(seconds * 1000)
    const decision = await limiter.check(policy, user)
    assert.deepEqual([seconds, decision.allowed, decision.remaining], [seconds, admitted, remaining], why)
  }
}

const twoWindows: Policy = definePolicy('two windows', [
  { name: 'narrow', limit: 2, windowMs: 60_000 },
  { name: 'wide', limit: 5, windowMs: 3_600_000 },
])

async function allOrNothing({ limiter, at }: Bench): Promise<void> {
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

async function exactAtOnce({ limiter, at }: Bench): Promise<void> {
  at(30_000)
  const policy = definePolicy('at once', [{ name: 'at once', limit: 20, windowMs: 60_000 }])
  const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.check(policy, user)))
  assert.equal(decisions.filter(({ allowed }) => allowed).length, 20)
}

async function takesWhole({ limiter, at }: Bench): Promise<void> {
  at(0)
  assert.equal((await limiter.check(twoWindows, user, { cost: 2 })).remaining, 0)
  at(120_000)
  assert((await limiter.check(twoWindows, user, { cost: 2 })).allowed)
  at(240_000)
  assert(!(await limiter.check(twoWindows, user, { cost: 2 })).allowed)
  assert((await limiter.check(twoWindows, user)).allowed)
}

async function peeks({ limiter, at }: Bench): Promise<void> {
  at(0)
  for (let i = 0; i < 5; i++) assert((await limiter.peek(twoWindows, user)).allowed)
  for (let i = 0; i < 2; i++) await limiter.check(twoWindows, user)
  const { allowed, retryAfterSeconds } = await limiter.peek(twoWindows, user)
  assert.deepEqual([allowed, retryAfterSeconds], [false, 61])
}

async function givesBack({ limiter, at }: Bench): Promise<void> {
  at(0)
  for (let i = 0; i < 2; i++) await limiter.check(twoWindows, user)
  await limiter.grant(twoWindows, user, 1)
  assert((await limiter.check(twoWindows, user)).allowed)
  assert(!(await limiter.check(twoWindows, user)).allowed)
}

async function countsThen({ store }: Bench): Promise<void> {
  const later = start + 60_000
  await store.acquire(twoWindows, user, 1, start)
  await store.acquire(twoWindows, user, 1, later)
  await store.add(twoWindows, user, [4, 4], later, start + 30_000)
  assert.deepEqual((await store.peek(twoWindows, user, later)).counters, [5, 1, 0, 6])
}

async function raises({ store }: Bench): Promise<void> {
  await store.raise(twoWindows, user, [0, 2, 0, 3], start)
  await store.raise(twoWindows, user, [0, 1, 0, 3], start)
  const { counters } = await store.peek(twoWindows, user, start)
  assert.deepEqual(counters, [0, 2, 0, 3])
}

const bucket: Policy = definePolicy('bucket', [
  { name: 'bucket', algorithm: 'token-bucket', limit: 5, refillPerSecond: 0.1 },
])

async function raisesBuckets({ store }: Bench): Promise<void> {
  await store.raise(bucket, user, [1, start], start)
  await store.raise(bucket, user, [4, start], start)
  assert.deepEqual((await store.peek(bucket, user, start)).counters, [1, start])
  await store.raise(bucket, user, [1, start], start + 10_000)
  assert.deepEqual((await store.peek(bucket, user, start + 10_000)).counters, [2, start + 10_000])
}

async function resets({ limiter, at }: Bench): Promise<void> {
  at(0)
  const bob = { kind: 'user', id: 'bob' }
  for (let i = 0; i < 2; i++) for (const who of [user, bob]) await limiter.check(twoWindows, who)
  await limiter.reset(twoWindows, user)
  assert((await limiter.peek(twoWindows, user)).allowed)
  assert(!(await limiter.peek(twoWindows, bob)).allowed)
}

async function keepsGifts({ store }: Bench): Promise<void> {
  const bob = { kind: 'user', id: 'bob' }
  for (const who of [user, bob]) await store.raise(twoWindows, who, [0, 2, 0, 3], start)
  await store.grant(twoWindows, user, 1, start)
  await store.reset(twoWindows, bob, start)
  for (const who of [user, bob]) await store.raise(twoWindows, who, [0, 2, 0, 3], start)
  assert.deepEqual((await store.peek(twoWindows, user, start)).counters, [0, 1, 0, 2])
  assert.deepEqual((await store.peek(twoWindows, bob, start)).counters, [0, 0, 0, 0])
}

async function staysApart({ limiter, at }: Bench): Promise<void> {
  at(0)
  const ids = ['a', 'a:1', 'a%3A1', '{a}', 'a b', 'ä', '*']
  for (const id of ids)
    for (const kind of ['user', 'ip']) {
      const { remaining } = await limiter.check(twoWindows, { kind, id })
      assert.equal(remaining, 1, `${kind} ${id}`)
    }
}

async function sharesTiers({ limiter, at }: Bench): Promise<void> {
  at(0)
  await limiter.check(tierPolicy('free', { rpm: 10, daily: 1_000 }), user)
  assert.equal((await limiter.check(tierPolicy('pro', { rpm: 100, daily: 100_000 }), user)).remaining, 98)
}
