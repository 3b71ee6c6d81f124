import assert from 'node:assert/strict'
import { test } from 'node:test'
import { instantOf, isInstant, Problem } from '../../src/index.ts'

const read: readonly (readonly [text: string, milliseconds: number, why: string])[] = [
  ['1970-01-01T00:00:00Z', 0, 'the earliest'],
  ['9999-12-31T23:59:59.999Z', 253_402_300_799_999, 'the latest'],
  ['2026-12-31t18:00:00.5z', Date.UTC(2026, 11, 31, 18, 0, 0, 500), 'small letters'],
  ['2026-12-31T18:00:00.123456789+05:30', Date.UTC(2026, 11, 31, 12, 30, 0, 123), 'nanoseconds and an offset'],
  ['2026-02-28T23:30:00-01:00', Date.UTC(2026, 2, 1, 0, 30), 'the offset reaches the next month'],
  ['2028-02-29T00:00:00Z', Date.UTC(2028, 1, 29), 'a leap day'],
  ['2016-12-31T23:59:60Z', Date.UTC(2017, 0, 1), 'a leap second'],
  ['2016-12-31T18:59:60.25-05:00', Date.UTC(2017, 0, 1, 0, 0, 0, 250), 'a leap second elsewhere'],
]
for (const [text, milliseconds, why] of read) {
  test(`${text} is read: ${why}`, () => assert.equal(instantOf(text), milliseconds))
}

for (const [text, why] of [
  ['0000-01-01T00:00:00Z', 'before 1970'],
  ['1969-12-31T23:59:59.999Z', 'before 1970'],
  ['1970-01-01T00:00:00+00:01', 'before 1970 in UTC'],
  ['9999-12-31T23:59:59-23:59', 'after 9999 in UTC'],
  ['2026-12-31T18:59:60Z', 'no leap second comes then'],
  ['2026-02-29T00:00:00Z', 'no such day'],
  ['2026-04-31T00:00:00Z', 'no such day'],
  ['2026-00-10T00:00:00Z', 'no such month'],
  ['2026-12-31T24:00:00Z', 'no such hour'],
  ['2026-12-31T18:00:00', 'no offset'],
  ['2026-12-31 18:00:00Z', 'no T'],
  ['2026-12-31', 'a day alone'],
  ['+102026-12-31T18:00:00Z', 'a year of six digits'],
  ['', 'nothing'],
] as const) {
  test(`"${text}" is refused with what was expected: ${why}`, () => {
    assert.equal(isInstant(text), false)
    assert.throws(
      () => instantOf(text, '/fire_at'),
      (error) => {
        assert.ok(error instanceof Problem)
        assert.deepEqual(
          [error.status, error.message.includes('/fire_at must be a date and time of RFC 3339')],
          [400, true],
        )
        return true
      },
    )
  })
}
