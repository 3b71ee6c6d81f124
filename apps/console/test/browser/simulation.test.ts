import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Declaration } from '../../src/browser/screens/limits/declaration.ts'
import { headersAt, type Simulation, simulate } from '../../src/browser/screens/limits/simulation/simulate.ts'
import { arrivalsOf, maxArrivals, type Pattern } from '../../src/browser/screens/limits/simulation/traffic.ts'

const never = new AbortController().signal
const tier = (declaration: Declaration, more: Partial<Simulation> = {}): Simulation => ({
  limit: { kind: 'tiers', name: 'free', declaration },
  arrivals: arrivalsOf({ kind: 'steady', perMinute: 30, minutes: 10 }, 2),
  store: 'there',
  gateways: 4,
  ...more,
})

describe('traffic', () => {
  const kinds: Pattern[] = [
    { kind: 'steady', perMinute: 30, minutes: 60 },
    { kind: 'burst', size: 10, everySeconds: 60, minutes: 30 },
    { kind: 'ramp', from: 0, to: 60, minutes: 60 },
    { kind: 'office', peakPerMinute: 5 },
  ]
  for (const traffic of kinds)
    test(`${traffic.kind} comes in the order of time, for every caller, and is the same again`, () => {
      const arrivals = arrivalsOf(traffic, 3)
      assert.equal(new Set(arrivals.map(({ caller }) => caller)).size, 3)
      assert.ok(arrivals.every(({ at }, nth) => at >= (arrivals[nth - 1]?.at ?? 0)))
      assert.deepEqual(arrivalsOf(traffic, 3), arrivals)
    })

  test('steady traffic has about as many requests as it says, and a ramp more at its end', () => {
    const steady = arrivalsOf({ kind: 'steady', perMinute: 100, minutes: 60 }, 1).length
    assert.ok(steady > 5_700 && steady < 6_300, String(steady))
    const ramp = arrivalsOf({ kind: 'ramp', from: 0, to: 100, minutes: 60 }, 1)
    const middle = ((ramp[0]?.at ?? 0) + (ramp.at(-1)?.at ?? 0)) / 2
    const late = ramp.filter(({ at }) => at > middle).length
    assert.ok(late > 0.65 * ramp.length, `${late} of ${ramp.length}`)
  })

  test('there are never more requests than a page can simulate', () => {
    assert.equal(arrivalsOf({ kind: 'steady', perMinute: 100_000, minutes: 60 }, 5).length, maxArrivals)
  })
})

describe('a simulation', () => {
  test('admits what the limit allows: a burst in one window', async () => {
    const arrivals = arrivalsOf({ kind: 'burst', size: 25, everySeconds: 3_600, minutes: 10 }, 1)
    const { admitted, rejected, limitedCallers, maxWaitSeconds } = await simulate(
      tier({ rpm: 10 }, { arrivals }),
      never,
    )
    assert.deepEqual([admitted, rejected, limitedCallers], [10, 15, 1])
    assert.ok(maxWaitSeconds >= 1 && maxWaitSeconds <= 120)
  })

  test('counts what a shadow would have rejected, and rejects nothing by it', async () => {
    const { rejected, shadowRejected } = await simulate(tier({ rpm: 1_000, shadow: { rpm: 10 } }), never)
    assert.equal(rejected, 0)
    assert.ok(shadowRejected > 0)
  })

  test('of a higher limit never rejects more', async () => {
    const limit = fc.integer({ min: 1, max: 60 })
    await fc.assert(
      fc.asyncProperty(limit, fc.integer({ min: 1, max: 60 }), async (rpm, more) => {
        const [low, high] = [await simulate(tier({ rpm }), never), await simulate(tier({ rpm: rpm + more }), never)]
        assert.ok(high.admitted >= low.admitted)
      }),
      { numRuns: 20 },
    )
  })

  test('without the counter store does what the failure mode says', async () => {
    const away = (failure_mode: 'open' | 'closed' | 'local') =>
      simulate(tier({ rpm: 10, failure_mode }, { store: 'away' }), never)
    assert.equal((await away('open')).rejected, 0)
    assert.equal((await away('closed')).admitted, 0)
    const there = (await simulate(tier({ rpm: 10 }), never)).admitted
    assert.ok((await away('local')).admitted > there, 'each gateway counts by itself')
  })

  test('has the headers of any request, those of a rejected one with Retry-After', async () => {
    const simulation = tier({ rpm: 3 })
    const { decisions } = await simulate(simulation, never)
    const first = await headersAt(simulation, 0, never)
    assert.deepEqual([first['X-RateLimit-Limit'], first['X-RateLimit-Remaining']], ['3', '2'])
    const rejected = await headersAt(simulation, decisions.indexOf(0), never)
    assert.match(rejected['Retry-After'] ?? '', /^[1-9]\d*$/)
  })

  test('of many requests leaves the page its time, and ends when it is aborted', async () => {
    const arrivals = arrivalsOf({ kind: 'steady', perMinute: 100_000, minutes: 60 }, 1)
    const leaving = new AbortController()
    let turns = 0
    const count = setInterval(() => turns++, 1)
    const running = simulate(tier({ rpm: 10 }, { arrivals }), leaving.signal)
    await running
    clearInterval(count)
    assert.ok(turns > 2, `the page had ${turns} turns`)
    const another = simulate(tier({ rpm: 10 }, { arrivals }), leaving.signal)
    leaving.abort()
    await assert.rejects(another, { name: 'AbortError' })
  })

  test('of a limit that is not allowed is refused with the reason', async () => {
    await assert.rejects(simulate(tier({ rpm: 0 }), never), /limit must be an integer/)
  })
})

test('recorded minutes are sent again, each request in its minute', () => {
  const minutes = [
    { at: '2026-11-23T07:00:00Z', count: 3 },
    { at: '2026-11-23T07:01:00Z', count: 0 },
    { at: '2026-11-23T07:02:00Z', count: 2 },
  ]
  const arrivals = arrivalsOf({ kind: 'recorded', minutes }, 1)
  const start = Math.floor((arrivals[0]?.at ?? 0) / 60_000)
  const counts = arrivals.map(({ at }) => Math.floor(at / 60_000) - start)
  assert.deepEqual(counts, [0, 0, 0, 2, 2])
  assert.equal(arrivalsOf({ kind: 'recorded', minutes }, 2).length, 10)
  assert.deepEqual(arrivalsOf({ kind: 'recorded', minutes: [] }, 1), [])
})
