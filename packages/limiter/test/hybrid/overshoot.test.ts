import assert from 'node:assert/strict'
import { test } from 'node:test'
import { combinePolicies, definePolicy, hybridStore, memoryStore, type Policy } from '@gatehouse/limiter'
import { type FleetOptions, simulateFleet } from '@gatehouse/limiter/conformance'
import fc from 'fast-check'
import { acquireByShares } from '../../src/combination/in-turn.ts'
import { isMixed } from '../../src/combination/shares.ts'
import type { CounterStore } from '../../src/store.ts'

/** What a fleet may admit in any window, as a multiple of the limit: decision 0319. */
const bound = 1.1

const advisory = (limit: number, windowMs: number) =>
  definePolicy('moving', [{ name: 'moving', limit, windowMs }], { advisory: true })
const perSecond = advisory(10_000, 1_000)
const perMinute = advisory(10_000, 60_000)

type Weight = NonNullable<FleetOptions['weight']>

/** Who gets the requests of 20 processes. */
const patterns: readonly (readonly [title: string, weight: Weight])[] = [
  ['traffic that moves from one process to another', (i, ms) => Number(ms < 1_500 ? i === 0 : i === 1)],
  ['traffic that moves from one process to all others', (i, ms) => Number(ms < 1_500 ? i === 0 : i > 0)],
  [
    'traffic that leaves all processes for one and then comes back to the others',
    (i, ms) => (ms < 60 ? 1 : Number(ms < 880 ? i === 0 : i > 0)),
  ],
  ['traffic that moves from all processes to one', (i, ms) => (ms < 1_500 ? 1 : Number(i === 0))],
  ['traffic that oscillates between halves of the fleet', (i, ms) => Number(i % 2 === Math.floor(ms / 150) % 2)],
  ['traffic that goes from process to process', (i, ms) => Number(i === Math.floor(ms / 100) % 20)],
  ['a burst on one process', (i, ms) => (i === 0 && ms % 1_000 > 400 ? 100 : 1)],
  ['a process that is frozen and goes on', (i, ms) => Number(i > 0 || ms < 700 || ms > 1_900)],
  ['half of the processes leaving', (i, ms) => Number(i < 10 || ms < 1_200)],
]

for (const [title, weight] of patterns)
  for (const [name, policy, offeredPerSecond] of [
    ['second', perSecond, 40_000],
    ['minute', perMinute, 12_000],
  ] as const)
    test(`${title} overshoots a limit of 10,000 a ${name} by at most a tenth`, async () => {
      const { worstWindow } = await simulateFleet({ policy, instances: 20, offeredPerSecond, seconds: 2.4, weight })
      assert(worstWindow <= bound, `${worstWindow} of the limit`)
      assert(worstWindow >= 0.97, `${worstWindow} of the limit: not used up`)
    })

test('processes that others do not know of yet add no more than their shares', async () => {
  const weight: Weight = (i, ms) => Number(i < 10 || ms > 1_300)
  const options = { policy: perSecond, instances: 20, believed: 10, offeredPerSecond: 40_000, seconds: 3, weight }
  const { worstWindow } = await simulateFleet(options)
  assert(worstWindow <= 1 + (0.1 * 20) / 10, `${worstWindow} of the limit`)
})

test('a fleet of any size overshoots a limit by at most a tenth, wherever the traffic moves', async () => {
  const moves = fc.record({
    instances: fc.integer({ min: 2, max: 24 }),
    limit: fc.integer({ min: 50, max: 6_000 }),
    windowMs: fc.constantFrom(1_000, 2_000, 60_000),
    pressure: fc.double({ min: 1, max: 4, noNaN: true }),
    phaseMs: fc.integer({ min: 30, max: 800 }),
    phases: fc.array(fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 24, maxLength: 24 }), {
      minLength: 1,
      maxLength: 6,
    }),
    roundTripMs: fc.integer({ min: 1, max: 6 }),
    seed: fc.integer({ min: 1, max: 1_000_000 }),
  })
  await fc.assert(
    fc.asyncProperty(moves, async ({ limit, windowMs, pressure, phaseMs, phases, ...rest }) => {
      const weight: Weight = (i, ms) => phases[Math.floor(ms / phaseMs) % phases.length]?.[i] ?? 0
      const offeredPerSecond = Math.min(20_000, (limit * pressure) / Math.min(2, windowMs / 1_000))
      const policy = advisory(limit, windowMs)
      const { worstWindow } = await simulateFleet({ ...rest, policy, offeredPerSecond, weight, seconds: 3 })
      assert(!(worstWindow > bound), `${worstWindow} of the limit`)
    }),
    { numRuns: 25 },
  )
})

const kept = { limit: 400, windowMs: 3_600_000 }
const local = advisory(kept.limit, kept.windowMs)
const everybody = definePolicy('everybody', [{ name: 'all', ...kept, limit: 900 }], { advisory: true, shared: true })
const exact = definePolicy('exact', [{ name: 'exact', ...kept, limit: 300 }])
const start = Date.UTC(2026, 0, 1)

test('combinations counted locally overshoot each policy by at most a tenth', async () => {
  const request = fc.record({
    process: fc.nat({ max: 3 }),
    user: fc.constantFrom('a', 'b', 'c'),
    chosen: fc.subarray([local, everybody, exact], { minLength: 1 }),
    times: fc.integer({ min: 1, max: 120 }),
    together: fc.boolean(),
    reconciles: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 10, maxLength: 60 }), async (requests) => {
      const memory = memoryStore()
      const shared = slow(memory)
      const processes = Array.from({ length: 4 }, () => hybridStore(shared, { instances: 4, intervalMs: 0 }))
      const admitted = new Map<string, number>()
      const ask = async ({ process, user, chosen }: { process: number; user: string; chosen: readonly Policy[] }) => {
        const who = chosen.every((policy) => policy.shared) ? { kind: 'global', id: 'all' } : { kind: 'user', id: user }
        const result = await processes[process]?.acquire({
          policy: combinePolicies(chosen),
          identifier: who,
          cost: 1,
          now: start,
        })
        if (!result?.allowed) return
        for (const { name, shared: all } of chosen) {
          const key = `${name} ${all ? '' : user}`
          admitted.set(key, (admitted.get(key) ?? 0) + 1)
        }
      }
      for (const one of requests) {
        const requests = Array.from({ length: one.times }, () => () => ask(one))
        if (one.together) await Promise.all(requests.map((run) => run()))
        else for (const run of requests) await run()
        if (one.reconciles) await processes[one.process]?.reconcile()
      }
      for (const one of processes) await one.reconcile()
      for (const user of ['a', 'b', 'c'])
        for (const [policy, max] of [
          [local, 440],
          [everybody, 990],
          [exact, 300],
        ] as const) {
          const count = admitted.get(`${policy.name} ${policy.shared ? '' : user}`) ?? 0
          const who = policy.shared ? { kind: 'global', id: 'all' } : { kind: 'user', id: user }
          assert(count <= max, `${policy.name}: ${count}`)
          assert.equal(memory.peek(policy, who, start).counters[1], count, `${policy.name}: charged as admitted`)
        }
    }),
    { numRuns: 60 },
  )
})

test('results that arrive out of order are not taken for lost counts', async () => {
  const memory = memoryStore()
  const user = { policy: local, identifier: { kind: 'user', id: 'c' }, now: start }
  memory.acquire({ ...user, cost: 383 })
  const store = hybridStore(slow(memory), { instances: 4, intervalMs: 0 })
  const results = await Promise.all(Array.from({ length: 18 }, () => store.acquire({ ...user, cost: 1 })))
  await store.reconcile()
  const admitted = results.filter(({ allowed }) => allowed).length
  assert.equal(memory.peek(local, user.identifier, start).counters[1], 383 + admitted)
})

/** A store elsewhere, which takes combinations in one step. */
function slow(memory: ReturnType<typeof memoryStore>): CounterStore {
  const later = <T>(answer: T): Promise<T> => new Promise((resolve) => setImmediate(resolve, answer))
  return {
    combines: true,
    acquire: async (request) =>
      later(await (isMixed(request.policy) ? acquireByShares(memory, request) : memory.acquire(request))),
    peek: (policy, who, now) => later(memory.peek(policy, who, now)),
    add: (request) => later(memory.add(request)),
    grant: (...call) => later(memory.grant(...call)),
    raise: (...call) => later(memory.raise(...call)),
    reset: async (...call) => memory.reset(...call),
  }
}
