import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLimiter, type Limiter } from '../limiter.ts'
import type { Policy } from '../policy.ts'
import { definePolicy } from '../policy.ts'
import type { CounterStore } from '../store.ts'
import { type Timetable, timetables } from './timetable.ts'

export { type FleetOptions, type FleetOutcome, simulateFleet } from '../simulated-fleet.ts'

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
      const limiter = createLimiter({ store, clock: { now: () => now } })
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

  for (const timetable of timetables) shows(timetable.title, (bench) => keepsTimetable(bench, timetable))
  shows('a rejected request takes nothing from the windows that would have let it through', allOrNothing)
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
