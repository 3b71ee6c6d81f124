import assert from 'node:assert/strict'
import { keyPrefix } from '../../src/activity/caller-key.ts'
import { type History, maxCallersPerStep } from '../../src/activity/history.ts'
import type { LabelCount, Period, Rejection } from '../../src/activity/period.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** The full hour at which the periods of the suite begin. */
export const noon = Date.UTC(2026, 5, 1, 12)
const nobody = { entries: [], missed: 0 }

/** A test of a history, by its title. */
export type HistoryCase = readonly [title: string, run: (history: History) => Promise<void>]

const entry = (id: string, count: number, at: number) => ({ key: `${keyPrefix(['free'], '/a')}user\n${id}`, count, at })
const period = (at: number, members: Partial<Period> = {}): Period => ({
  at,
  allowed: nobody,
  rejected: nobody,
  labels: [],
  rejections: [],
  ...members,
})
const allowed = (name: string, count: number): LabelCount => ({ by: 'policy', name, outcome: 'allowed', count })
const rejection = (at: number): Rejection => ({
  at,
  policy: 'free',
  rule: 'rpm',
  route: '/a',
  identifier: { kind: 'user', id: `u${at}\nü` },
  retryAfterSeconds: 7,
  source: 'store',
  requestId: 'r1',
})

/** What every engine of the history does. Each case gets an empty one. */
export const historyCases: readonly HistoryCase[] = [
  [
    'periods of several processes are added up in minutes and in hours',
    async (history) => {
      const first = { entries: [entry('u1', 3, noon + 1), entry('u2', 1, noon + 2)], missed: 2 }
      const second = { entries: [entry('u1', 4, noon + 90_000)], missed: 1 }
      await history.add(period(noon, { rejected: first }))
      await history.add(period(noon + 80_000, { rejected: second }))
      await history.add(period(noon + 85_000, { rejected: second }))
      const minutes = await history.callers('rejected', { stepMs: minuteMs, from: noon, to: noon + hourMs - 1 })
      assert.deepEqual(
        minutes.map(({ at, missed, callers }) => [at, missed, callers.map(({ id, count }) => [id, count]).sort()]),
        [
          [
            noon,
            2,
            [
              ['u1', 3],
              ['u2', 1],
            ],
          ],
          [noon + minuteMs, 2, [['u1', 8]]],
        ],
      )
      const [hour] = await history.callers('rejected', { stepMs: hourMs, from: noon, to: noon })
      const one = hour?.callers.find(({ id }) => id === 'u1')
      assert.deepEqual(one, { policies: ['free'], route: '/a', kind: 'user', id: 'u1', count: 11, at: noon + 90_000 })
      assert.equal(hour?.missed, 4)
      assert.deepEqual(await history.callers('allowed', { stepMs: hourMs, from: noon, to: noon }), [])
    },
  ],
  [
    'a step keeps a bounded number of callers, and says what it dropped',
    async (history) => {
      const heavy = entry('heavy', 50, noon)
      for (let round = 0; round < 8; round++) {
        const others = Array.from({ length: 400 }, (_, nth) => entry(`once-${round}-${nth}`, 1, noon))
        await history.add(period(noon, { rejected: { entries: [heavy, ...others], missed: 0 } }))
      }
      const [step] = await history.callers('rejected', { stepMs: minuteMs, from: noon, to: noon })
      assert.ok(step !== undefined && step.callers.length <= 1.5 * maxCallersPerStep, String(step?.callers.length))
      assert.equal(step.callers.find(({ id }) => id === 'heavy')?.count, 400)
      assert.ok(step.missed >= 1 && step.missed < 50, String(step.missed))
    },
  ],
  [
    'labels are added up in steps of each length',
    async (history) => {
      await history.add(period(noon, { labels: [allowed('free', 2), { ...allowed('free', 1), by: 'tier' }] }))
      await history.add(period(noon + 30_000, { labels: [allowed('free', 3)] }))
      await history.add(
        period(noon + 11 * minuteMs, { labels: [{ ...allowed('free', 5), outcome: 'rejected', rule: 'rpm' }] }),
      )
      for (const [stepMs, sums] of [
        [minuteMs, [5, 5]],
        [10 * minuteMs, [5, 5]],
        [hourMs, [10]],
      ] as const) {
        const steps = await history.labels('policy', { stepMs, from: noon, to: noon + hourMs - 1 })
        assert.deepEqual(
          steps.map(({ labels }) => labels.reduce((sum, { count }) => sum + count, 0)),
          sums,
        )
      }
      const compared: LabelCount = { by: 'route', name: '/a', outcome: 'released', policy: 'search', count: 2 }
      await history.add(period(noon, { labels: [compared, { ...compared, outcome: 'shadow', rule: 'rpm' }] }))
      const [routes] = await history.labels('route', { stepMs: minuteMs, from: noon, to: noon })
      assert.deepEqual(routes?.labels, [compared, { ...compared, outcome: 'shadow', rule: 'rpm' }])
      const [last] = await history.labels('policy', { stepMs: minuteMs, from: noon + 11 * minuteMs, to: noon + hourMs })
      assert.deepEqual(last?.labels, [{ by: 'policy', name: 'free', outcome: 'rejected', rule: 'rpm', count: 5 }])
    },
  ],
  [
    'the last thousand rejections are kept, newest first',
    async (history) => {
      await history.add(period(noon, { rejections: Array.from({ length: 700 }, (_, nth) => rejection(noon + nth)) }))
      await history.add(
        period(noon, { rejections: Array.from({ length: 700 }, (_, nth) => rejection(noon + 1_000 + nth)) }),
      )
      const found = await history.rejections()
      assert.equal(found.length, 1_000)
      assert.deepEqual(found[0], rejection(noon + 1_699))
      assert.deepEqual(found.at(-1), rejection(noon + 400))
    },
  ],
]
