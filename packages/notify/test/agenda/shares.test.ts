import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { divideBuckets, rangesOf, type Shares } from '../../src/agenda/shares.ts'

const of = (shares: ReadonlyMap<number, string> | undefined, process: string) =>
  [...(shares ?? [])].flatMap(([bucket, owner]) => (owner === process ? [bucket] : []))

/** Divides after each change of the processes that live, as they would, all at once. */
const divideInTurn = (count: number, turns: ReadonlyArray<readonly string[]>) => {
  let owners: ReadonlyMap<number, string> = new Map()
  for (const processes of turns) owners = divideBuckets({ count, processes, owners }) ?? new Map()
  return owners
}

test('a process that is alone has all buckets, a second one gets half of them', () => {
  assert.deepEqual(of(divideInTurn(4, [['a']]), 'a'), [0, 1, 2, 3])
  const two = divideInTurn(4, [['a'], ['a', 'b']])
  assert.deepEqual(
    [of(two, 'a'), of(two, 'b')],
    [
      [0, 1],
      [2, 3],
    ],
  )
})

test('with fewer buckets than processes nothing is divided', () => {
  assert.equal(divideBuckets({ count: 1, processes: ['a', 'b'], owners: new Map([[0, 'a']]) }), undefined)
})

test('the buckets of a process that is gone go to the others, and theirs stay', () => {
  const three = divideInTurn(9, [['a'], ['a', 'b'], ['a', 'b', 'c']])
  const owners = new Map([...three].filter(([, owner]) => owner !== 'b'))
  const two = divideBuckets({ count: 9, processes: ['a', 'c'], owners })
  for (const process of ['a', 'c']) for (const bucket of of(three, process)) assert.equal(two?.get(bucket), process)
})

test('who gets one more is the same before and after others give up what they have too many', () => {
  const owners = (...sizes: readonly number[]) =>
    new Map(
      sizes
        .flatMap((size, n) => Array.from({ length: size }, () => `process-${n}`))
        .map((owner, bucket): [number, string] => [bucket, owner]),
    )
  const processes = ['process-0', 'process-1', 'process-2']
  for (const sizes of [
    [8, 8],
    [6, 8],
    [6, 8, 2],
    [8, 5],
    [8, 5, 3],
    [6, 5, 3],
    [6, 5, 5],
  ]) {
    const shares = divideBuckets({ count: 16, processes, owners: owners(...sizes) })
    assert.deepEqual(
      processes.map((process) => of(shares, process).length),
      [6, 5, 5],
      `while they have ${sizes}`,
    )
  }
})

const anyShares = fc
  .record({ count: fc.integer({ min: 1, max: 64 }), size: fc.integer({ min: 1, max: 8 }), random: fc.array(fc.nat(9)) })
  .map(({ count, size, random }): Shares => {
    const processes = Array.from({ length: size }, (_, n) => `process-${n}`)
    const owned = random.slice(0, count).map((n, bucket): [number, string] => [bucket, `process-${n}`])
    return { count, processes, owners: new Map(owned.filter(([, owner]) => processes.includes(owner))) }
  })

const counts = ({ count, processes }: Shares, shares: ReadonlyMap<number, string>) =>
  processes.map((process) => of(shares, process).length).filter((size) => size <= count)

test('each bucket belongs to one living process, and no two differ by more than one', () => {
  fc.assert(
    fc.property(anyShares, (shares) => {
      const divided = divideBuckets(shares)
      if (!divided) return assert.ok(shares.processes.length > shares.count)
      assert.equal(divided.size, shares.count)
      const sizes = counts(shares, divided)
      assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1)
    }),
  )
})

test('what was divided stays as it is, whatever the order in which the processes are known', () => {
  fc.assert(
    fc.property(anyShares, fc.boolean(), (shares, isReversed) => {
      const divided = divideBuckets(shares)
      if (!divided) return
      const processes = isReversed ? shares.processes.toReversed() : shares.processes
      assert.deepEqual(new Map(divideBuckets({ ...shares, processes, owners: divided })), new Map(divided))
    }),
  )
})

test('no more buckets move than those above the fair share of their owner', () => {
  fc.assert(
    fc.property(anyShares, (shares) => {
      const divided = divideBuckets(shares)
      if (!divided) return
      const moved = [...shares.owners].filter(([bucket, owner]) => divided.get(bucket) !== owner).length
      const sizes = shares.processes.map((process) => of(shares.owners, process).length).sort((a, b) => b - a)
      const base = Math.floor(shares.count / shares.processes.length)
      const larger = shares.count % shares.processes.length
      const above = sizes.reduce((sum, size, place) => sum + Math.max(0, size - base - (place < larger ? 1 : 0)), 0)
      assert.equal(moved, above)
    }),
  )
})

test('buckets are formatted as the ranges that they form', () => {
  assert.deepEqual(rangesOf([5, 0, 1, 2, 7, 8]), [
    [0, 2],
    [5, 5],
    [7, 8],
  ])
  assert.deepEqual(rangesOf([]), [])
})
