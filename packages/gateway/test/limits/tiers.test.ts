import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import { createTiers, planFreshMs } from '../../src/limits/tiers.ts'

/** Plan lookups that wait until the test answers them. */
function setup() {
  const clock = manualClock()
  const lookups: { subject: string; answer: (plan?: string) => Promise<void>; fail: () => Promise<void> }[] = []
  const failures: unknown[] = []
  const tiers = createTiers({
    planOf(subject) {
      const { promise, resolve, reject } = Promise.withResolvers<{ plan: string } | undefined>()
      const settled = () => new Promise<void>((done) => setImmediate(done))
      lookups.push({
        subject,
        answer(plan) {
          resolve(plan === undefined ? undefined : { plan })
          return settled()
        },
        fail() {
          reject(new Error('identity is away'))
          return settled()
        },
      })
      return promise
    },
    limits: () => ({
      tiers: new Map([
        ['free', 1],
        ['pro', 2],
      ]),
      lowest: 'free',
    }),
    clock,
    onFailure: (error) => failures.push(error),
  })
  return { tiers, clock, lookups, failures }
}

test('a plan is looked up once and cached for a minute', async () => {
  const { tiers, clock, lookups } = setup()
  const first = tiers.tierOf('u1')
  await lookups[0]?.answer('pro')
  assert.equal(await first, 'pro')
  clock.advance(planFreshMs - 1)
  assert.equal(tiers.tierOf('u1'), 'pro')
  assert.equal(lookups.length, 1)
})

test('a stale plan is used while it is refreshed, one lookup at a time', async () => {
  const { tiers, clock, lookups } = setup()
  const first = tiers.tierOf('u1')
  await lookups[0]?.answer('free')
  await first
  clock.advance(planFreshMs)
  for (let i = 0; i < 5; i++) assert.equal(tiers.tierOf('u1'), 'free')
  assert.equal(lookups.length, 2)
  await lookups[1]?.answer('pro')
  assert.equal(tiers.tierOf('u1'), 'pro')
})

test('simultaneous requests of one unknown user cause one lookup', async () => {
  const { tiers, lookups } = setup()
  const answers = Promise.all(Array.from({ length: 20 }, () => tiers.tierOf('u1')))
  assert.equal(lookups.length, 1)
  await lookups[0]?.answer('pro')
  assert.deepEqual(new Set(await answers), new Set(['pro']))
})

test('a slow first lookup counts as the lowest tier, and its late result is cached', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const { tiers, lookups } = setup()
  const waiting = tiers.tierOf('u1')
  context.mock.timers.tick(250)
  assert.equal(await waiting, 'free')
  await lookups[0]?.answer('pro')
  assert.equal(tiers.tierOf('u1'), 'pro')
  assert.equal(lookups.length, 1)
})

test('a failed lookup keeps the known plan or the lowest tier, and is retried in a second', async () => {
  const { tiers, clock, lookups, failures } = setup()
  const first = tiers.tierOf('u1')
  await lookups[0]?.fail()
  assert.equal(await first, 'free')
  assert.equal(tiers.tierOf('u1'), 'free')
  assert.equal(lookups.length, 1)
  clock.advance(1_000)
  assert.equal(tiers.tierOf('u1'), 'free')
  assert.equal(lookups.length, 2)
  await lookups[1]?.answer('pro')
  clock.advance(planFreshMs)
  assert.equal(tiers.tierOf('u1'), 'pro')
  await lookups[2]?.fail()
  assert.equal(tiers.tierOf('u1'), 'pro')
  assert.equal(failures.length, 2)
})

test('a plan without a tier, or no plan at all, is the lowest tier', async () => {
  const { tiers, lookups } = setup()
  const [odd, none] = [tiers.tierOf('odd'), tiers.tierOf('none')]
  await lookups[0]?.answer('platinum')
  await lookups[1]?.answer()
  assert.deepEqual([await odd, await none], ['free', 'free'])
})

test('a plan is looked up again after the clock was set back', async () => {
  const { tiers, clock, lookups } = setup()
  const first = tiers.tierOf('u1')
  await lookups[0]?.answer('free')
  await first
  clock.advance(-3_600_000)
  assert.equal(tiers.tierOf('u1'), 'free')
  await lookups[1]?.answer('pro')
  assert.deepEqual([tiers.tierOf('u1'), lookups.length], ['pro', 2])
})
