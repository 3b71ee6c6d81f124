import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bucketLabel, parseStatRange, quantileSeries, type StatRow, sumSeries } from '../../src/index.ts'

const stepMs = 60_000
const query = { from: 0, to: 10 * stepMs, stepMs }
const rows: fc.Arbitrary<StatRow[]> = fc.array(
  fc.record({
    at: fc.integer({ min: 0, max: 9 }).map((place) => place * stepMs),
    labels: fc.record({
      channel: fc.constantFrom('push', 'email', 'sms'),
      outcome: fc.constantFrom('queued', 'capped'),
    }),
    value: fc.integer({ min: 1, max: 1_000 }),
  }),
)
const total = (values: ReadonlyArray<number | null>) => values.reduce<number>((sum, value) => sum + (value ?? 0), 0)

test('series by any labels add up to the rows, step by step', () => {
  fc.assert(
    fc.property(rows, fc.constantFrom(['channel'], ['outcome'], ['channel', 'outcome'], []), (some, by) => {
      const { at, series } = sumSeries(some, query, by)
      assert.equal(at.length, 10)
      for (const [place, moment] of at.entries()) {
        const here = some.filter((row) => row.at === Date.parse(moment)).reduce((sum, { value }) => sum + value, 0)
        assert.equal(total(series.map(({ values }) => values[place] ?? null)), here)
      }
      assert.equal(new Set(series.map(({ labels }) => JSON.stringify(labels))).size, series.length)
    }),
  )
})

test('of many series the smallest make one, and the sum stays', () => {
  const many = Array.from({ length: 500 }, (_, n) => ({ at: 0, labels: { event: `e${n}` }, value: n + 1 }))
  const { series } = sumSeries(many, query, ['event'])
  assert.ok(series.length <= 201)
  assert.deepEqual(series.at(-1)?.labels, { event: 'other' })
  assert.equal(total(series.flatMap(({ values }) => values)), (500 * 501) / 2)
})

test('a quantile lies in the bucket of the value that it stands for', () => {
  const bounds = [0.1, 0.5, 1, 5]
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0.001, max: 20, noNaN: true }), { minLength: 1 }), (durations) => {
      const counted = durations.map((seconds) => ({ at: 0, labels: { le: bucketLabel(bounds, seconds) }, value: 1 }))
      const { series } = quantileSeries(counted, query, { by: [], bounds })
      const sorted = durations.toSorted((a, b) => a - b)
      for (const { labels, values } of series) {
        const exact = sorted[Math.ceil(Number(labels.quantile) * sorted.length) - 1] ?? 0
        const value = values[0] ?? assert.fail('no value')
        const upper = bounds.find((bound) => exact <= bound) ?? bounds.at(-1) ?? 0
        const lower = bounds[bounds.indexOf(upper) - 1] ?? 0
        assert.ok(value >= lower && value <= upper, `${value} for ${exact}`)
        assert.equal(values[1], null, 'nothing was counted there')
      }
    }),
  )
})

const now = Date.UTC(2026, 5, 1, 12, 34)

for (const [name, range, expected] of [
  ['a day in steps of a quarter of an hour', {}, { count: 97, stepMs: 900_000 }],
  ['an hour in minutes', { from: '2026-06-01T11:34:00Z' }, { count: 61, stepMs: 60_000 }],
  ['a month in steps of whole hours', { from: '2026-05-02T12:34:00Z' }, { count: 121, stepMs: 21_600_000 }],
] as const)
  test(`statistics without a step are ${name}`, () => {
    const { from, to, stepMs: step } = parseStatRange(range, now)
    assert.deepEqual({ count: (to - from) / step, stepMs: step }, expected)
    assert.equal(from % step, 0)
    assert.ok(to >= now)
  })

for (const [name, range, pointer] of [
  ['a range that ends before it begins', { from: '2026-06-02T00:00:00Z' }, '/from'],
  ['a range of years', { from: '2020-01-01T00:00:00Z' }, '/from'],
  ['minutes of a week', { from: '2026-05-25T00:00:00Z', step: 300 }, '/step'],
  ['too many steps', { step: 60 }, '/step'],
  ['no date', { from: 'yesterday' }, '/from'],
] as const)
  test(`statistics of ${name} are refused with what was expected`, () => {
    assert.throws(
      () => parseStatRange(range, now),
      (error: { status: number; body(): { errors: { pointer: string }[] } }) =>
        error.status === 400 && error.body().errors[0]?.pointer === pointer,
    )
  })
