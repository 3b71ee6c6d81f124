import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isolatedPlaces, tablePlaces } from '../../src/browser/parts/chart/series.ts'
import {
  codeFigures,
  complaintTone,
  countOf,
  dailyStep,
  domainFigures,
  endedSteps,
  linesOf,
  othersOf,
  shareOf,
  sharesOf,
  totalOf,
} from '../../src/browser/screens/measure/figures.ts'

const step = 60
const start = Date.UTC(2026, 5, 1)
const answer = (series: { labels: Record<string, string>; values: number[] }[], length = 5) => ({
  step,
  at: Array.from({ length }, (_, n) => new Date(start + n * step * 1_000).toISOString()),
  series,
})
const anySeries = fc.array(
  fc.record({
    labels: fc.record({ channel: fc.constantFrom('push', 'email'), outcome: fc.constantFrom('queued', 'capped') }),
    values: fc.array(fc.nat(1_000), { minLength: 5, maxLength: 5 }),
  }),
)

test('the lines of a chart add up to what was counted of what they show', () => {
  fc.assert(
    fc.property(anySeries, (series) => {
      const where = ({ outcome }: Readonly<Record<string, string>>) => outcome === 'queued'
      const lines = linesOf(answer(series), { by: 'channel', where })
      const sum = lines.reduce((all, { total = 0 }) => all + total, 0)
      assert.equal(sum, countOf(answer(series), where))
      assert.ok(lines.every(({ values }) => values.length === 5 && totalOf(values) > 0))
    }),
  )
})

test('the step that has not ended is left out of a chart, unless nothing was counted before it', () => {
  const now = start + 4.5 * step * 1_000
  const lines = (...all: number[][]) => {
    const series = all.map((values, n) => ({ labels: { channel: String(n) }, values }))
    return linesOf(endedSteps(answer(series), now), { by: 'channel' })
  }
  assert.deepEqual(lines([1, 2, 3, 4, 1]), [{ label: '0', values: [1, 2, 3, 4], total: 11 }])
  assert.deepEqual(lines([0, 0, 0, 0, 1]), [{ label: '0', values: [0, 0, 0, 0, 1], total: 1 }])
  const ended = answer([{ labels: {}, values: [1, 2, 3, 4, 1] }])
  assert.deepEqual(endedSteps(ended, start + 6 * step * 1_000), ended)
})

test('what was counted in the step under way is in the sum of its line, and alone makes one', () => {
  const series = [
    { labels: { channel: 'email' }, values: [1, 0, 0, 0, 30] },
    { labels: { channel: 'sms' }, values: [0, 0, 0, 0, 40] },
  ]
  const lines = linesOf(endedSteps(answer(series), start + 4.5 * step * 1_000), { by: 'channel' })
  assert.deepEqual(
    lines.map(({ label, total, values }) => [label, total, totalOf(values)]),
    [
      ['sms', 40, 0],
      ['email', 31, 1],
    ],
  )
})

test('figures of mail are by provider and domain, and opens of machines count apart', () => {
  const of = (domain: string, state: string, count: number) => ({
    labels: { provider: 'ses', domain, state },
    values: [count, 0, 0, 0, count],
  })
  const figures = domainFigures(
    answer([
      of('gmx.de', 'called', 5),
      of('gmail.com', 'called', 50),
      of('gmail.com', 'opened', 3),
      of('gmail.com', 'opened_by_machine', 4),
      of('gmail.com', 'clicked', 9),
    ]),
  )
  assert.deepEqual(
    figures.map(({ domain, sent, opened, openedByMachine }) => [domain, sent, opened, openedByMachine]),
    [
      ['gmail.com', 100, 6, 8],
      ['gmx.de', 10, 0, 0],
    ],
  )
})

test('failures of SMS are by provider and code, the most frequent first', () => {
  const of = (code: string, ...values: number[]) => ({ labels: { provider: 'twilio', code }, values })
  assert.deepEqual(codeFigures(answer([of('30003', 1, 1), of('none', 0, 0), of('30007', 5, 0), of('21610', 2, 0)])), [
    { provider: 'twilio', code: '30007', count: 5 },
    { provider: 'twilio', code: '21610', count: 2 },
    { provider: 'twilio', code: '30003', count: 2 },
  ])
})

test('few figures are by the day where the range has several, else by the hour', () => {
  assert.deepEqual(
    (['1h', '24h', '7d', '30d'] as const).map((name) => dailyStep({ name })),
    [3_600, 3_600, 86_400, 86_400],
  )
})

for (const [sent, complained, tone] of [
  [99, 50, undefined],
  [10_000, 9, 'good'],
  [10_000, 10, 'careful'],
  [10_000, 29, 'careful'],
  [10_000, 30, 'bad'],
] as const)
  test(`${complained} complaints about ${sent} mails are ${tone ?? 'too few to know'}`, () => {
    assert.equal(complaintTone({ sent, complained }), tone)
  })

test('the table behind a chart is bounded and shows the newest moment first', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5_000 }), (moments) => {
      const places = tablePlaces(moments)
      assert.ok(places.length <= 120 && places.length >= Math.min(60, moments))
      assert.equal(places[0], moments - 1)
      assert.ok(places.every((place) => place >= 0 && place < moments))
    }),
  )
})

test('a share is of what was counted of the same value; of nothing there is none', () => {
  const data = answer([
    { labels: { template: 'a', result: 'complete' }, values: [3, 0, 0, 0, 0] },
    { labels: { template: 'a', result: 'incomplete' }, values: [0, 1, 0, 0, 0] },
    { labels: { template: 'b', result: 'complete' }, values: [0, 0, 0, 0, 0] },
  ])
  const shares = sharesOf(data, 'template', ({ result }) => result === 'incomplete')
  assert.deepEqual(shares.get('a'), { count: 4, share: 0.25 })
  assert.deepEqual(shares.get('b'), { count: 0, share: undefined })
})

test('what is counted together with others has no figure of its own, and is not nothing', () => {
  const series = [
    { labels: { event: 'order.shipped', outcome: 'queued' }, values: [3] },
    { labels: { event: 'other', outcome: 'other' }, values: [2] },
  ]
  const isSent = () => false
  const some = sharesOf(answer(series, 1), 'event', isSent)
  assert.deepEqual(
    [shareOf(some, 'order.shipped')?.count, shareOf(some, 'order.delayed'), othersOf(some)?.count],
    [3, undefined, 2],
  )
  const all = sharesOf(answer(series.slice(0, 1), 1), 'event', isSent)
  assert.deepEqual([shareOf(all, 'order.delayed')?.count, othersOf(all)], [0, undefined])
})

test('a value without one beside it is drawn as a point, since no line leads to it', () => {
  assert.deepEqual(isolatedPlaces([1, null, 2, 3, null, undefined, 4]), [0, 6])
  assert.deepEqual(isolatedPlaces([]), [])
})
