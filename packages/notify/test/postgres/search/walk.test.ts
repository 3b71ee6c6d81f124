import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { channels } from '../../../src/model/channel.ts'
import { deliveryIdOf } from '../../../src/model/id.ts'
import { ofNotifications } from '../../../src/postgres/search/looks.ts'
import { type Look, walkBack } from '../../../src/postgres/search/walk.ts'

const idOf = (n: number) => `0190${n.toString(16).padStart(4, '0')}-0000-7000-8000-000000000000`

/** Rows of buckets: which numbers each has, and which of them match. */
interface Rows {
  readonly buckets: ReadonlyArray<readonly number[]>
  readonly matching: ReadonlySet<number>
}

const rowsArbitrary: fc.Arbitrary<Rows> = fc
  .tuple(fc.uniqueArray(fc.nat(2_000), { maxLength: 300 }), fc.integer({ min: 1, max: 5 }), fc.nat(), fc.boolean())
  .map(([numbers, count, seed, isSkewed]) => ({
    buckets: Array.from({ length: count }, (_, bucket) =>
      numbers.filter((n) => (isSkewed && n % 10 > 0 ? 0 : (n * 7 + seed) % count) === bucket).sort((a, b) => b - a),
    ),
    matching: new Set(numbers.filter((n) => (n + seed) % 3 > 0)),
  }))

const expected = ({ buckets, matching }: Rows) =>
  buckets
    .flat()
    .filter((n) => matching.has(n))
    .sort((a, b) => b - a)
    .map(idOf)

/** Looks at rows that are in memory, and counts them. */
function lookAt({ buckets, matching }: Rows): { readonly look: Look; readonly counted: { rows: number } } {
  const counted = { rows: 0 }
  const look: Look = async (positions, rows) =>
    positions.flatMap(({ bucket, before }) => {
      const looked = (buckets[bucket] ?? []).filter((n) => idOf(n) < before).slice(0, rows)
      const last = looked.at(-1)
      if (last === undefined) return []
      counted.rows += looked.length
      const matches = looked.filter((n) => matching.has(n)).map(idOf)
      return [{ bucket, last: idOf(last), count: looked.length, matches }]
    })
  return { look, counted }
}

const options = (rows: Rows, look: Look) => ({
  buckets: rows.buckets.map((_, bucket) => bucket),
  before: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  firstRows: 20,
  maxRows: 1_000_000,
  maxMs: 60_000,
  look,
})

test('a walk comes to every matching row of all buckets, the newest first', () =>
  fc.assert(
    fc.asyncProperty(rowsArbitrary, async (rows) => {
      const { look } = lookAt(rows)
      const ids: string[] = []
      let last: string | undefined = ''
      for await (const step of walkBack(options(rows, look))) {
        ids.push(...step.ids)
        last = step.through
      }
      assert.deepEqual(ids, expected(rows))
      assert.equal(last, undefined, 'it says that it came to the end')
    }),
  ))

test('walks that end at their bounds and go on from there find the same, and each gets further', () =>
  fc.assert(
    fc.asyncProperty(rowsArbitrary, fc.integer({ min: 1, max: 60 }), async (rows, maxRows) => {
      const { look, counted } = lookAt(rows)
      const ids: string[] = []
      let before: string | undefined = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
      while (before !== undefined) {
        const begin: string = before
        counted.rows = 0
        for await (const step of walkBack({ ...options(rows, look), before: begin, maxRows })) {
          ids.push(...step.ids)
          before = step.through
        }
        assert.ok(before === undefined || before < begin)
        assert.ok(counted.rows <= 2 * maxRows + 20 * rows.buckets.length, `${counted.rows} rows of ${maxRows}`)
      }
      assert.deepEqual(ids, expected(rows))
    }),
  ))

test('a walk whose time is over takes one look, and says how far it came', async () => {
  const rows: Rows = { buckets: [Array.from({ length: 200 }, (_, n) => 199 - n)], matching: new Set([150]) }
  const { look } = lookAt(rows)
  const steps = []
  for await (const step of walkBack({ ...options(rows, look), maxMs: 0 })) steps.push(step)
  assert.deepEqual(steps, [{ ids: [], through: idOf(180) }])
})

test('a walk through deliveries comes to each of their notifications once, wherever its pages end', () =>
  fc.assert(
    fc.asyncProperty(rowsArbitrary, fc.integer({ min: 1, max: 60 }), fc.nat(14), async (rows, maxRows, seed) => {
      // Of each notification the first one to four channels have a delivery; those of a matching one all match.
      const deliveriesOf = (n: number) =>
        channels.slice(0, 1 + ((n * 3 + seed) % channels.length)).map((channel) => deliveryIdOf(idOf(n), channel))
      const matching = new Set([...rows.matching].flatMap(deliveriesOf))
      const look = ofNotifications(async (positions, count) =>
        positions.flatMap(({ bucket, before }) => {
          const own = (rows.buckets[bucket] ?? []).flatMap((n) => deliveriesOf(n).toReversed())
          const looked = own.filter((id) => id < before).slice(0, count)
          const matches = looked.filter((id) => matching.has(id))
          return looked.length === 0 ? [] : [{ bucket, last: looked.at(-1) ?? '', count: looked.length, matches }]
        }),
      )
      const ids: string[] = []
      let before: string | undefined = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
      while (before !== undefined) {
        const begin: string = before
        for await (const step of walkBack({ ...options(rows, look), firstRows: 1, before: begin, maxRows })) {
          ids.push(...step.ids)
          before = step.through
        }
        assert.ok(before === undefined || before < begin, 'each page gets further')
      }
      assert.deepEqual(ids, expected(rows))
    }),
  ))
