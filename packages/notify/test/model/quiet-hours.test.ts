import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { quietRanges, quietUntil } from '../../src/model/delivery/quiet-hours.ts'

const cases = [
  ['UTC', '22:00', '08:00', '2026-06-01T21:59:59Z', undefined, 'a minute too early'],
  ['UTC', '22:00', '08:00', '2026-06-01T22:00:00Z', '2026-06-02T08:00:00Z', 'they begin, and wrap midnight'],
  ['UTC', '22:00', '08:00', '2026-06-02T07:59:59Z', '2026-06-02T08:00:00Z', 'the end of the same night'],
  ['UTC', '22:00', '08:00', '2026-06-02T08:00:00Z', undefined, 'the morning itself'],
  ['UTC', '13:00', '14:00', '2026-06-01T13:30:00Z', '2026-06-01T14:00:00Z', 'a nap that does not wrap'],
  ['UTC', '08:00', '08:00', '2026-06-01T08:00:00Z', undefined, 'start = end means none'],
  ['Europe/Berlin', '22:00', '08:00', '2026-03-28T22:00:00Z', '2026-03-29T06:00:00Z', 'the night that loses an hour'],
  ['Europe/Berlin', '22:00', '08:00', '2026-10-24T21:00:00Z', '2026-10-25T07:00:00Z', 'the night that gains one'],
  [
    'Europe/Berlin',
    '22:00',
    '02:30',
    '2026-03-28T23:00:00Z',
    '2026-03-29T01:30:00Z',
    'an end in the gap is an hour later by the wall',
  ],
  [
    'Europe/Berlin',
    '22:00',
    '02:30',
    '2026-10-24T23:00:00Z',
    '2026-10-25T00:30:00Z',
    'an end in the overlap is the first one',
  ],
  ['Europe/Berlin', '22:00', '02:30', '2026-10-25T01:10:00Z', undefined, 'the second 02:10 comes after the morning'],
  [
    'Europe/Berlin',
    '22:00',
    '02:30',
    '2026-03-29T01:10:00Z',
    '2026-03-29T01:30:00Z',
    'who comes after the gap waits as long as who came before it',
  ],
  ['Europe/Berlin', '02:30', '06:00', '2026-03-29T01:10:00Z', undefined, 'a start in the gap is an hour later too'],
  ['Europe/Berlin', '02:30', '06:00', '2026-03-29T01:30:00Z', '2026-03-29T04:00:00Z', 'and then they begin'],
  [
    'Europe/Berlin',
    '02:30',
    '06:00',
    '2026-10-25T01:10:00Z',
    '2026-10-25T05:00:00Z',
    'from the first 02:30 on they hold, also at the second 02:10',
  ],
  ['Europe/Berlin', '02:30', '03:15', '2026-03-29T01:20:00Z', undefined, 'nothing is left of them that day'],
  [
    'Europe/Berlin',
    '03:00',
    '02:00',
    '2026-03-28T22:00:00Z',
    '2026-03-29T00:00:00Z',
    'an end in the gap that would meet the next start comes before it',
  ],
  ['Europe/Berlin', '03:00', '02:00', '2026-03-29T00:30:00Z', undefined, 'and leaves the hour between free'],
  ['Europe/Berlin', '03:00', '02:00', '2026-03-29T01:00:00Z', '2026-03-30T00:00:00Z', 'then the next ones begin'],
  ['Pacific/Apia', '22:00', '07:00', '2026-06-01T09:30:00Z', '2026-06-01T18:00:00Z', 'far in the east'],
  ['America/St_Johns', '22:00', '07:00', '2026-11-01T03:00:00Z', '2026-11-01T10:30:00Z', 'half an hour off, in autumn'],
  ['America/New_York', '22:00', '07:00', '2026-03-08T05:00:00Z', '2026-03-08T11:00:00Z', 'New York springs forward'],
  ['Australia/Lord_Howe', '22:00', '07:00', '2026-04-04T15:00:00Z', '2026-04-04T20:30:00Z', 'a change of half an hour'],
  ['Asia/Kathmandu', '22:00', '07:00', '2026-06-01T17:00:00Z', '2026-06-02T01:15:00Z', 'a zone of 45 minutes'],
  ['Nowhere/Land', '22:00', '08:00', '2026-06-01T23:00:00Z', '2026-06-02T08:00:00Z', 'an unknown zone counts as UTC'],
] as const
for (const [zone, start, end, now, until, why] of cases)
  test(`${zone} ${start}-${end} at ${now}: ${why}`, () => {
    const found = quietUntil({ start, end }, zone, Date.parse(now))
    assert.equal(
      found === undefined ? undefined : new Date(found).toISOString(),
      until && new Date(until).toISOString(),
    )
  })

test('quiet hours have one end for all who wait, and do not apply at that end', () => {
  const time = fc
    .integer({ min: 0, max: 1439 })
    .map((n) => `${String(Math.floor(n / 60)).padStart(2, '0')}:${String(n % 60).padStart(2, '0')}`)
  const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca')
  const day = { min: new Date('2026-01-01'), max: new Date('2027-01-01'), noInvalidDate: true }
  const change = { min: new Date('2026-10-24T22:00Z'), max: new Date('2026-10-25T08:00Z'), noInvalidDate: true }
  const spring = { min: new Date('2026-03-28T22:00Z'), max: new Date('2026-03-29T08:00Z'), noInvalidDate: true }
  const now = fc.oneof(fc.date(day), fc.date(change), fc.date(spring))
  fc.assert(
    fc.property(time, time, zone, now, fc.nat(999), (start, end, name, date, share) => {
      const until = quietUntil({ start, end }, name, date.getTime())
      if (until === undefined) return
      assert.ok(until > date.getTime() && until - date.getTime() <= 26 * 3_600_000)
      assert.equal(quietUntil({ start, end }, name, until), undefined)
      const later = date.getTime() + Math.floor(((until - date.getTime()) * share) / 1_000)
      assert.equal(quietUntil({ start, end }, name, later), until)
    }),
    { numRuns: 5_000, examples: [['03:00', '02:00', 'Europe/Berlin', new Date('2026-03-28T22:00Z'), 500]] },
  )
})

const span = [Date.parse('2026-03-28T12:00:00Z'), Date.parse('2026-03-30T12:00:00Z')] as const

test('ranges of quiet hours have the length that a clock change leaves them', () => {
  const ranges = (zone: string) =>
    quietRanges({ start: '22:00', end: '08:00' }, zone, ...span).map(({ from, until }) => [
      new Date(from).toISOString(),
      (until - from) / 3_600_000,
    ])
  assert.deepEqual(ranges('Europe/Berlin'), [
    ['2026-03-28T21:00:00.000Z', 9],
    ['2026-03-29T20:00:00.000Z', 10],
  ])
  assert.deepEqual(
    ranges('Asia/Tokyo'),
    [
      ['2026-03-28T13:00:00.000Z', 10],
      ['2026-03-29T13:00:00.000Z', 10],
    ],
    'the night that is over at noon is left out',
  )
  assert.deepEqual(ranges('America/Los_Angeles').length, 3, 'the night that holds at the first time is in them')
})

test('there are no ranges where quiet hours are none', () => {
  assert.deepEqual(quietRanges({ start: '08:00', end: '08:00' }, 'UTC', ...span), [])
})

test('a time lies in a range exactly when quiet hours hold at it', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'UTC'),
      fc.constantFrom('2026-03-29T00:00Z', '2026-10-25T00:00Z', '2026-11-01T00:00Z', '2026-06-01T00:00Z'),
      fc.tuple(fc.nat(1_439), fc.nat(1_439)),
      fc.integer({ min: -2_880, max: 2_880 }),
      (zone, day, [start, end], minutes) => {
        const quiet = { start: timeOfDay(start), end: timeOfDay(end) }
        const now = Date.parse(day) + minutes * 60_000
        const ranges = quietRanges(quiet, zone, now, now)
        assert.equal(ranges.find(({ from, until }) => from <= now && now < until)?.until, quietUntil(quiet, zone, now))
      },
    ),
  )
})

function timeOfDay(minutes: number): string {
  return Temporal.PlainTime.from('00:00').add({ minutes }).toString({ smallestUnit: 'minute' })
}
