import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type ClaimMarks,
  type ClaimRange,
  createClaimMarks,
  placeAt,
  readsMuch,
} from '../../../src/postgres/delivery/claim/claim-marks.ts'

const begin = 1_000_000
const shipped = { priority: 1, event: 'order.shipped' }
const id = (n: number) => `019b0000-0000-7000-8000-${String(n).padStart(12, '0')}`

/** A claim that got the rows due at these times, and read so many entries of the index for them. */
function claim(
  marks: ClaimMarks,
  now: number,
  dueAt: readonly number[],
  entriesRead: number = dueAt.length,
): ClaimRange {
  const { range, end } = marks.begin(now)
  const claimed = dueAt.map((due, n) => ({ ...shipped, dueAt: due, id: id(n) }))
  const isCrowded = readsMuch(entriesRead, 1, dueAt.length)
  end({ groups: [{ ...shipped, front: dueAt[0] ?? null }], claimed, isCrowded })
  return range
}

/** Marks whose last claim got a row due at `begin`, and read far too much for it. */
function crowded(): ClaimMarks {
  const marks = createClaimMarks()
  claim(marks, begin, [begin], 10_000)
  return marks
}

function placeOf(range: ClaimRange): number | undefined {
  return range === 'all' ? undefined : range[0]?.place.dueAt
}

describe('the marks of claims', () => {
  test('are not used while claims read little', () => {
    const marks = createClaimMarks()
    for (let n = 0; n < 5; n++) assert.equal(claim(marks, begin + n, [begin + n]), 'all')
  })

  test('are used once a claim has read much for what it got: the next goes on at the last row', () => {
    assert.deepEqual(crowded().begin(begin + 1).range, [{ ...shipped, place: { dueAt: begin, id: id(0) } }])
  })

  test('stay at the first row of a group that gave none, or at the time of the claim', () => {
    const marks = crowded()
    const seen = (front: number | null) => ({ groups: [{ ...shipped, front }], claimed: [] })
    marks.begin(begin + 1).end(seen(begin - 5))
    assert.equal(placeOf(marks.begin(begin + 2).range), begin - 5)
    marks.begin(begin + 3).end(seen(null))
    assert.equal(placeOf(marks.begin(begin + 4).range), begin + 3)
  })

  test('are lowered to rows that this process made claimable, also while a claim is under way', () => {
    const marks = crowded()
    marks.lower('order.shipped', placeAt(begin - 7))
    assert.equal(placeOf(claim(marks, begin + 1, [begin - 7, begin + 1])), begin - 7)
    const underWay = marks.begin(begin + 2)
    marks.lower('order.shipped', placeAt(begin - 3))
    underWay.end({ groups: [{ ...shipped, front: begin }], claimed: [{ ...shipped, dueAt: begin + 2, id: id(1) }] })
    assert.equal(placeOf(marks.begin(begin + 2).range), begin - 3)
  })

  test('are kept where a claim failed', () => {
    const marks = crowded()
    marks.begin(begin + 1).end()
    assert.equal(placeOf(marks.begin(begin + 1).range), begin)
  })

  test('are left for the whole index when the clock was set back', () => {
    assert.equal(crowded().begin(begin - 1).range, 'all')
  })

  test('are no longer used once reading everything is cheap again', () => {
    const marks = crowded()
    assert.equal(claim(marks, begin + 300_000, [begin + 300_000]), 'all')
    assert.equal(claim(marks, begin + 300_001, [begin + 300_001]), 'all')
  })

  const depths: ReadonlyArray<readonly [afterMs: number, reachMs: number | 'all']> = [
    [999, 0],
    [1_000, 2_000],
    [10_000, 20_000],
    [60_000, 180_000],
    [299_999, 180_000],
    [300_000, 'all'],
  ]
  for (const [afterMs, reachMs] of depths)
    test(`look back ${reachMs} ms when nothing was claimed for ${afterMs} ms`, () => {
      const { range } = crowded().begin(begin + afterMs)
      assert.equal(placeOf(range), reachMs === 'all' ? undefined : begin - reachMs)
    })

  test('find a late row in no more time than it is late by, and any within five minutes', () => {
    for (const lateMs of [1, 500, 1_000, 3_000, 9_999, 40_000, 61_000, 119_000, 200_000, 86_400_000]) {
      const marks = crowded()
      for (let now = begin; ; now += 100) {
        const range = claim(marks, now, [now])
        const place = placeOf(range) ?? Number.NEGATIVE_INFINITY
        if (place <= begin - lateMs && now > begin) {
          const bound = lateMs <= 1_000 ? 1_000 : lateMs <= 10_000 ? 10_000 : lateMs <= 120_000 ? 60_000 : 300_000
          assert.ok(now - begin <= bound, `late by ${lateMs} ms: found after ${now - begin} ms`)
          break
        }
      }
    }
  })
})
