import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePolicy, type MemoryStore, memoryStore } from '@gatehouse/limiter'

const start = Date.UTC(2026, 0, 1)
const policy = definePolicy('p', [{ name: 'r', limit: 3, windowMs: 60_000 }])
const person = (id: number | string) => ({ kind: 'ip', id: `id-${id}` })

test('a flood of new identifiers neither exceeds the maximum nor unblocks anybody', () => {
  let evictions = 0
  const store = memoryStore({ maxKeys: 100, onUnexpiredEviction: () => evictions++ })
  for (let i = 0; i < 4; i++) store.acquire({ policy, identifier: person('blocked'), cost: 1, now: start })
  for (let i = 0; i < 10_000; i++) store.acquire({ policy, identifier: person(i), cost: 1, now: start + 1 })
  assert.equal(store.size, 100)
  assert(evictions > 9_000)
  assert(!store.acquire({ policy, identifier: person('blocked'), cost: 1, now: start + 2 }).allowed)
})

test('a store full of blocked identifiers counts new ones in a sketch', () => {
  const store = memoryStore({ maxKeys: 50 })
  for (let i = 0; i < 50; i++)
    for (let j = 0; j < 4; j++) store.acquire({ policy, identifier: person(i), cost: 1, now: start })
  const admitted = Array.from(
    { length: 10 },
    () => store.acquire({ policy, identifier: person('new'), cost: 1, now: start + 5 }).allowed,
  )
  assert.deepEqual(admitted.filter(Boolean).length, 3)
  for (let i = 0; i < 50; i++)
    assert(!store.acquire({ policy, identifier: person(i), cost: 1, now: start + 6 }).allowed)
})

test('idle identifiers are removed as new ones arrive', () => {
  let evictions = 0
  const store = memoryStore({ maxKeys: 1_000, onUnexpiredEviction: () => evictions++ })
  for (let minute = 0; minute < 20; minute++)
    for (let i = 0; i < 400; i++)
      store.acquire({ policy, identifier: person(`${minute}-${i}`), cost: 1, now: start + minute * 180_000 })
  assert.equal(evictions, 0)
  assert(store.size <= 1_000)
})

test('a clock that moves back neither unblocks an identifier nor loses its count', () => {
  const store = memoryStore()
  for (let i = 0; i < 3; i++) store.acquire({ policy, identifier: person(1), cost: 1, now: start + 60_000 })
  assert(!store.acquire({ policy, identifier: person(1), cost: 1, now: start + 30_000 }).allowed)
  assert(!store.acquire({ policy, identifier: person(1), cost: 1, now: start + 60_500 }).allowed)
})

const minuteMs = 60_000
const tenAMinute = [
  definePolicy('sliding', [{ name: 'sliding', limit: 10, windowMs: minuteMs }]),
  definePolicy('fixed', [{ name: 'fixed', algorithm: 'fixed-window', limit: 10, windowMs: minuteMs }]),
  definePolicy('bucket', [{ name: 'bucket', algorithm: 'token-bucket', limit: 10, refillPerSecond: 1 / 6 }]),
] as const
for (const policy of tenAMinute) {
  const allows = (store: MemoryStore, cost: number, now: number) =>
    store.acquire({ policy, identifier: person(1), cost, now }).allowed

  test(`a clock that goes back an hour limits nobody until it catches up: ${policy.name}`, () => {
    const store = memoryStore()
    assert(allows(store, 1, start + 60 * minuteMs))
    for (let i = 0; i < 116; i++) assert(allows(store, 1, start + (i * minuteMs) / 2), `request ${i}`)
  })

  test(`a clock that goes back an hour unblocks nobody at once: ${policy.name}`, () => {
    const store = memoryStore()
    assert(allows(store, 10, start + 60 * minuteMs))
    for (const elapsedMs of [0, 100, 1_000]) assert(!allows(store, 1, start + elapsedMs))
    assert(allows(store, 10, start + 2 * minuteMs))
  })
}

test('a clock that goes back an hour limits nobody in the sketch until it catches up', () => {
  const store = memoryStore({ maxKeys: 1 })
  const allows = (id: string, cost: number, now: number) =>
    store.acquire({ policy, identifier: person(id), cost, now }).allowed
  const ahead = start + 60 * minuteMs
  while (allows('blocked', 1, ahead));
  assert(allows('new', 3, ahead))
  assert(!allows('new', 1, start))
  for (let minute = 0; minute < 50; minute++) {
    while (allows('blocked', 1, start + minute * minuteMs));
    if (minute > 1) assert(allows('new', 1, start + minute * minuteMs), `minute ${minute}`)
  }
})

test('what is counted in the sketch is peeked there', () => {
  for (const tight of tenAMinute) {
    const store = memoryStore({ maxKeys: 1 })
    const acquire = (id: string) => store.acquire({ policy: tight, identifier: person(id), cost: 1, now: start })
    const peek = (id: string) => store.peek(tight, person(id), start)
    assert(peek('new').allowed, tight.name)
    while (acquire('blocked').allowed);
    assert(peek('new').allowed, tight.name)
    while (acquire('new').allowed);
    assert.deepEqual(peek('new'), acquire('new'), tight.name)
    assert(peek('other').allowed, tight.name)
    assert.equal(store.size, 1)
  }
})

for (const policy of tenAMinute) {
  /** A store that counts everybody but one blocked identifier in the sketch. */
  const openFullStore = () => {
    const store = memoryStore({ maxKeys: 1 })
    const acquire = (id: string, now = start) => store.acquire({ policy, identifier: person(id), cost: 1, now }).allowed
    const admitted = (id: string, now = start) => {
      let count = 0
      while (acquire(id, now)) count++
      return count
    }
    admitted('blocked')
    return { store, admitted }
  }

  test(`what is granted in the sketch is admitted, and to nobody else: ${policy.name}`, () => {
    const { store, admitted } = openFullStore()
    const ids = Array.from({ length: 3_000 }, (_, i) => `new-${i}`)
    for (const id of ids) assert(admitted(id) <= 10)
    for (const id of ids.slice(0, 1_000)) {
      const granted = store.grant(policy, person(id), 3, start)
      assert(granted.allowed)
      assert.deepEqual(granted, store.peek(policy, person(id), start))
    }
    assert.equal(admitted('new-0'), 3)
    for (const [i, id] of ids.entries()) assert(admitted(id) <= (i < 1_000 ? 3 : 0), id)
    assert.equal(store.size, 1)
  })

  test(`what is added or raised in the sketch is counted there: ${policy.name}`, () => {
    const { store, admitted } = openFullStore()
    const added = store.add({ policy, identifier: person('added'), amounts: [4], now: start })
    assert.deepEqual(added, store.peek(policy, person('added'), start))
    assert.equal(admitted('added'), 6)
    store.add({ policy, identifier: person('added'), amounts: [-2], now: start })
    assert.equal(admitted('added'), 2)
    const counters = policy.name === 'bucket' ? [2, start] : [0, 8]
    for (let i = 0; i < 2; i++) store.raise(policy, person('raised'), counters, start)
    assert.equal(admitted('raised'), 2)
    store.grant(policy, person('raised'), 1, start)
    store.raise(policy, person('raised'), counters, start)
    assert.equal(admitted('raised'), 1)
  })

  test(`what is reset in the sketch is forgotten, of that identifier alone: ${policy.name}`, () => {
    const { store, admitted } = openFullStore()
    for (const id of ['one', 'other']) admitted(id)
    store.reset(policy, person('one'), start)
    assert.deepEqual([admitted('one'), admitted('other')], [10, 0])
  })

  test(`a grant that the sketch cannot remember is not answered as one: ${policy.name}`, () => {
    const { store, admitted } = openFullStore()
    for (let i = 0; i < 10_000; i++) {
      store.add({ policy, identifier: person(`granted-${i}`), amounts: [2], now: start })
      store.grant(policy, person(`granted-${i}`), 1, start)
    }
    admitted('late')
    assert(!store.grant(policy, person('late'), 1, start).allowed)
    assert.equal(admitted('late'), 0)
    const [before, after] = [
      store.peek(policy, person('granted-1'), start),
      store.grant(policy, person('granted-1'), 1, start),
    ]
    assert.notDeepEqual(after.counters, before.counters)
  })
}

test('units added in the sketch for the last window, or returned to it, are counted in that one', () => {
  const [policy] = tenAMinute
  const store = memoryStore({ maxKeys: 1 })
  const now = start + minuteMs
  while (store.acquire({ policy, identifier: person('blocked'), cost: 1, now }).allowed);
  const add = (amount: number, countedAt: number) =>
    store.add({ policy, identifier: person('new'), amounts: [amount], now, countedAt }).counters
  assert.deepEqual(add(6, start), [6, 0])
  assert.deepEqual(add(-2, start), [4, 0])
  assert.deepEqual(add(3, start - minuteMs), [4, 0])
  assert.deepEqual(add(3, now), [4, 3])
  assert.deepEqual(store.peek(policy, person('new'), now + minuteMs).counters, [3, 0])
})

test('an identifier counted by a clock an hour ahead is removed once its counts have faded', () => {
  for (const policy of tenAMinute) {
    const store = memoryStore()
    store.acquire({ policy, identifier: person(0), cost: 10, now: start + 60 * minuteMs })
    for (let i = 1; i < 5; i++)
      store.acquire({ policy, identifier: person(i), cost: 1, now: start + i * 10 * minuteMs })
    assert.equal(store.size, 1, policy.name)
  }
})

/** A bucket of one family, whatever its capacity: rules of one name share their counters. */
const burst = (name: string, limit: number, refillPerSecond: number) =>
  definePolicy(name, [{ name: 'burst', algorithm: 'token-bucket', limit, refillPerSecond }])
const pro = burst('pro', 1_000, 0.1)

for (const [what, other] of [
  ['a smaller one', burst('free', 10, 0.1)],
  ['one that fills faster', burst('fast', 900, 1_000)],
] as const)
  test(`a bucket is not forgotten before it is full because ${what} is counted beside it`, () => {
    const store = memoryStore()
    const take = (cost: number, now: number) =>
      store.acquire({ policy: pro, identifier: person('pro'), cost, now }).allowed
    assert(take(990, start))
    for (let i = 0; i < 5; i++) store.acquire({ policy: other, identifier: person(i), cost: 1, now: start + 1_000 })
    assert(!take(500, start + 2_000))
  })

test('buckets that are full are removed as new ones arrive, also beside smaller and faster ones', () => {
  const store = memoryStore()
  const free = burst('free', 10, 0.01)
  const people = Array.from({ length: 500 }, (_, i) => i)
  for (const i of people) store.acquire({ policy: pro, identifier: person(i), cost: 500, now: start })
  for (const i of people)
    store.acquire({ policy: free, identifier: person(`free-${i}`), cost: 1, now: start + 5_001_000 })
  assert(store.size <= 510, `${store.size} identifiers`)
})

test('a full store evicts nobody whose bucket is empty by the slowest rate', () => {
  const store = memoryStore({ maxKeys: 20 })
  const fast = burst('fast', 900, 1_000)
  assert(store.acquire({ policy: pro, identifier: person('pro'), cost: 1_000, now: start }).allowed)
  for (let i = 0; i < 200; i++) store.acquire({ policy: fast, identifier: person(i), cost: 1, now: start + 5_000 })
  assert(!store.acquire({ policy: pro, identifier: person('pro'), cost: 1, now: start + 5_001 }).allowed)
})
