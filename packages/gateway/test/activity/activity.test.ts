import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Log, manualClock, silentLog } from '@gatehouse/kit'
import {
  combinePolicies,
  createLimiter,
  definePolicy,
  type Identifier,
  type Policy,
  tierPolicy,
} from '@gatehouse/limiter'
import { Activity } from '../../src/activity/activity.ts'
import { type History, maxAgeMs } from '../../src/activity/history.ts'
import { MemoryHistory } from '../../src/activity/memory-history.ts'
import type { Period } from '../../src/activity/period.ts'
import { Recorder } from '../../src/activity/recorder.ts'

const minuteMs = 60_000

/** An activity on a clock of its own, and a limiter whose decisions it records. */
function recorded(history?: History, log: Log = silentLog) {
  const clock = manualClock()
  let dropped = 0
  const activity = new Activity({ clock, log, history, onDropped: () => dropped++ })
  const limiter = createLimiter({ clock })
  const request = async (policy: Policy, identifier: Identifier, route = '/a') =>
    activity.record(await limiter.check(policy, identifier), { route, identifier, requestId: 'r' })
  const steps = () => ({ stepMs: minuteMs, from: clock.now() - 10 * minuteMs, to: clock.now() })
  return { activity, clock, request, steps, dropped: () => dropped }
}

const free = tierPolicy('free', { rpm: 2 })
const user = (id: string): Identifier => ({ kind: 'user', id })

/** A shared history whose server does as the test says. */
function sharedHistory(add: () => Promise<void>): History & { readonly added: Period[] } {
  const memory = new MemoryHistory()
  const added: Period[] = []
  return {
    added,
    maxAgeMs: maxAgeMs.shared,
    async add(period) {
      await add()
      added.push(period)
      await memory.add(period)
    },
    callers: (outcome, steps) => memory.callers(outcome, steps),
    labels: (by, steps) => memory.labels(by, steps),
    rejections: () => memory.rejections(),
  }
}

test('a decision is read at once, and once after it was added to the history', async (t) => {
  const { activity, request, steps } = recorded()
  t.after(() => activity.stop())
  for (let n = 0; n < 3; n++) await request(free, user('u1'))
  const read = async () => {
    const [allowed, rejected] = await Promise.all([
      activity.callers('allowed', steps()),
      activity.callers('rejected', steps()),
    ])
    const count = (value: typeof allowed.value) => value.flatMap(({ callers }) => callers).map((one) => one.count)
    return [count(allowed.value), count(rejected.value), allowed.scope]
  }
  assert.deepEqual(await read(), [[2], [1], 'process'])
  await activity.flush()
  assert.deepEqual(await read(), [[2], [1], 'process'])
  await activity.flush()
  assert.deepEqual(await read(), [[2], [1], 'process'])
  const [rejection] = (await activity.rejections()).value
  assert.deepEqual(rejection?.identifier, user('u1'))
  assert.deepEqual([rejection?.policy, rejection?.rule, rejection?.route], ['free', 'rpm', '/a'])
})

test('a rejection counts for the policy that rejected, an allowed request for each of its own', async (t) => {
  const { activity, request, steps } = recorded()
  t.after(() => activity.stop())
  const search = definePolicy('search', [{ name: 'search-rpm', limit: 1, windowMs: minuteMs }])
  const everybody = definePolicy('everybody', [{ name: 'all', limit: 9, windowMs: minuteMs }], { shared: true })
  const both = combinePolicies([free, search, everybody])
  await request(both, user('u1'))
  await request(both, user('u1'))
  const allowed = (await activity.callers('allowed', steps())).value.flatMap(({ callers }) => callers)
  const rejected = (await activity.callers('rejected', steps())).value.flatMap(({ callers }) => callers)
  assert.deepEqual(
    allowed.map(({ policies }) => policies),
    [['free', 'search']],
  )
  assert.deepEqual(
    rejected.map(({ policies }) => policies),
    [['search']],
  )
  const labels = (await activity.labels('policy', steps())).value.flatMap((step) => step.labels)
  assert.deepEqual(labels.map(({ name, outcome, rule, count }) => [name, outcome, rule, count]).sort(), [
    ['everybody', 'allowed', undefined, 1],
    ['free', 'allowed', undefined, 1],
    ['search', 'allowed', undefined, 1],
    ['search', 'rejected', 'search-rpm', 1],
  ])
})

test('what a shadow rule would have rejected is counted beside what was allowed', async (t) => {
  const { activity, request, steps } = recorded()
  t.after(() => activity.stop())
  const policy = definePolicy('trying', [
    { name: 'real', limit: 9, windowMs: minuteMs },
    { name: 'shadow', limit: 1, windowMs: minuteMs, shadow: true },
  ])
  for (let n = 0; n < 3; n++) await request(policy, user('u1'))
  const labels = (await activity.labels('policy', steps())).value.flatMap((step) => step.labels)
  assert.deepEqual(labels.map(({ outcome, rule, count }) => [outcome, rule, count]).sort(), [
    ['allowed', undefined, 3],
    ['shadow', 'shadow', 2],
  ])
})

test('while the shared history hangs few periods wait, the others are dropped and counted', async (t) => {
  const hanging = Promise.withResolvers<void>()
  const shared = sharedHistory(() => hanging.promise)
  const { activity, request, clock, steps, dropped } = recorded(shared)
  t.after(() => activity.stop())
  for (let n = 0; n < 20; n++) {
    await request(free, user(`u${n}`))
    void activity.flush()
    clock.advance(1_000)
  }
  assert.equal(dropped(), 13)
  const waiting = (await activity.callers('allowed', steps())).value.flatMap(({ callers }) => callers)
  assert.equal(waiting.length, 6)
  hanging.resolve()
  await activity.flush()
  assert.equal(shared.added.length, 7)
})

test('a period that the shared history refuses is lost, and reported until it works again', async (t) => {
  let isAway = true
  const warnings: unknown[] = []
  const log = { ...silentLog, warn: (...line: unknown[]) => warnings.push(line) } as unknown as Log
  const shared = sharedHistory(async () => {
    if (isAway) throw new Error('the server is away')
  })
  const { activity, request, dropped } = recorded(shared, log)
  t.after(() => activity.stop())
  for (let n = 0; n < 3; n++) {
    await request(free, user('u1'))
    await activity.flush()
  }
  assert.deepEqual([dropped(), warnings.length, shared.added.length], [3, 1, 0])
  isAway = false
  await request(free, user('u1'))
  await activity.flush()
  assert.deepEqual([dropped(), shared.added.length], [3, 1])
})

test('while the shared history can not be read a process answers for itself, and says so', async (t) => {
  const away = async () => {
    throw new Error('the server is away')
  }
  const { activity, request, steps } = recorded({
    ...sharedHistory(away),
    callers: away,
    labels: away,
    rejections: away,
  })
  t.after(() => activity.stop())
  for (let n = 0; n < 3; n++) await request(free, user('u1'))
  await activity.flush()
  const { value, scope } = await activity.callers('rejected', steps())
  assert.deepEqual([scope, value.flatMap(({ callers }) => callers).length], ['process', 1])
  assert.equal((await activity.rejections()).value.length, 1)
})

test('made-up identifiers and routes take a bounded amount of memory', async () => {
  const clock = manualClock()
  const recorder = new Recorder(clock.now())
  const limiter = createLimiter({ clock })
  for (let n = 0; n < 10_000; n++) {
    const identifier = { kind: 'ip', id: `made-up-${n % 5_000}` }
    for (let m = 0; m < 2; m++)
      recorder.record(await limiter.check(free, identifier), { route: `/route-${n % 5_000}`, identifier })
  }
  const { allowed, rejected, labels, rejections } = recorder.take(clock.now())
  assert.deepEqual([allowed.entries.length, rejected.entries.length], [500, 500])
  assert.ok(rejections.length <= 2_000, String(rejections.length))
  assert.equal(labels.filter(({ by, outcome }) => by === 'route' && outcome === 'allowed').length, 2_001)
  assert.equal(
    labels.reduce((sum, { by, count }) => sum + (by === 'tier' ? count : 0), 0),
    20_000,
  )
})
