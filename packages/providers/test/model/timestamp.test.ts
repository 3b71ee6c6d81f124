import assert from 'node:assert/strict'
import { test } from 'node:test'
import { instantOf, isInstant } from '@gatehouse/kit'
import fc from 'fast-check'
import { parseTimestamp } from '../../src/model/timestamp.ts'

test('the package parses timestamps exactly as the APIs of Gatehouse do', () => {
  const digits = (count: number) => fc.stringMatching(new RegExp(`^[0-9]{${count}}$`))
  const near = fc
    .tuple(digits(4), fc.nat(13), fc.nat(32), fc.nat(25), fc.nat(61), fc.nat(61), fc.constantFrom('Z', '+01:30', ''))
    .map(([year, ...rest]) => {
      const [month, day, hour, minute, second] = rest.slice(0, 5).map((value) => String(value).padStart(2, '0'))
      return `${year}-${month}-${day}T${hour}:${minute}:${second}${rest[5]}`
    })
  const valid = fc.date({ noInvalidDate: true }).map((date) => date.toISOString())
  const known = fc.constantFrom('2016-12-31T23:59:60Z', '2016-12-31T23:59:60.5Z', '2020-02-30T00:00:00Z', '', 'noon')
  fc.assert(
    fc.property(fc.oneof(near, valid, known), (text) =>
      assert.equal(parseTimestamp(text), isInstant(text) ? instantOf(text) : undefined),
    ),
  )
})
