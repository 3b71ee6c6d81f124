import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucketOfUser } from '../../src/model/id.ts'
import {
  AssignedPartitions,
  isPartitionCount,
  partitionOfUser,
  sharePartitions,
} from '../../src/model/work/partition.ts'
import { hashOfUser, tokenOfUser } from '../../src/model/work/user-token.ts'

test('a user id is one token of a subject', () => {
  const table = [
    ['alice', 'alice'],
    ['0198c2f0-7b1c-7000-8000-00000000abcd', '0198c2f0-7b1c-7000-8000-00000000abcd'],
    ['bob@example.com', 'bob%40example%2Ecom'],
    ['a b', 'a%20b'],
    ['*', '%2A'],
    ['>', '%3E'],
    ['100%', '100%25'],
    ['Zoë', 'Zo%C3%AB'],
  ] as const
  for (const [userId, token] of table) assert.equal(tokenOfUser(userId), token)
})

test('the hash of a user is FNV-1a of its token', () => {
  assert.equal(hashOfUser('a'), 0xe40c292c)
  assert.equal(hashOfUser('foobar'), 0xbf9cf968)
})

test('users are spread evenly over buckets and partitions', () => {
  const ids = [
    Array.from({ length: 64_000 }, (_, n) => `user-${n}`),
    Array.from({ length: 64_000 }, () => crypto.randomUUID()),
    Array.from({ length: 64_000 }, (_, n) => `${n}@example.com`),
  ]
  for (const list of ids) {
    const counts = new Map<number, number>()
    for (const id of list) counts.set(bucketOfUser(id, 64), (counts.get(bucketOfUser(id, 64)) ?? 0) + 1)
    assert.equal(counts.size, 64)
    for (const count of counts.values()) assert.ok(count > 800 && count < 1_200, `${count} of 1,000`)
  }
})

test('with at least as many partitions as buckets, a partition has users of one bucket', () => {
  for (const [buckets, partitions] of [
    [1, 8],
    [8, 8],
    [32, 128],
  ] as const)
    for (let n = 0; n < 1_000; n++)
      assert.equal(partitionOfUser(`user-${n}`, partitions) % buckets, bucketOfUser(`user-${n}`, buckets))
})

test('a partition belongs to the owner of its bucket where all processes have buckets', () => {
  const both = ['a', 'b']
  const share = { processes: both, readers: both, process: 'a', generation: 1, buckets: 4, ownedBuckets: [1, 2] }
  assert.deepEqual(sharePartitions(16, share), [1, 2, 5, 6, 9, 10, 13, 14])
  const alone = { ...share, processes: ['a'], readers: ['a'], buckets: 1, ownedBuckets: [0] }
  assert.deepEqual(sharePartitions(4, alone), [0, 1, 2, 3])
})

test('processes take partitions in turns where a partition has no owner of its bucket', () => {
  for (const buckets of [1, 2, 3, 16]) {
    const processes = ['c', 'a', 'b']
    const all = processes.map((process) =>
      sharePartitions(8, { processes, readers: processes, process, generation: 1, buckets, ownedBuckets: [0] }),
    )
    assert.deepEqual(all, [
      [2, 5],
      [0, 3, 6],
      [1, 4, 7],
    ])
  }
  const others = ['a', 'c']
  const unknown = { processes: others, readers: others, process: 'b', generation: 1, buckets: 1, ownedBuckets: [] }
  assert.deepEqual(sharePartitions(8, unknown), [])
})

test('processes that reach the topic read the partitions of those that do not', () => {
  const processes = ['a', 'b', 'c']
  const sharesWith = (readers: readonly string[]) =>
    processes.map((process, n) =>
      sharePartitions(4, {
        processes,
        readers,
        process,
        generation: 1,
        buckets: 4,
        ownedBuckets: n === 0 ? [0, 1] : [n + 1],
      }),
    )
  assert.deepEqual(sharesWith(processes), [[0, 1], [2], [3]])
  assert.deepEqual(sharesWith(['c', 'a']), [[0, 2], [], [1, 3]])
  assert.deepEqual(sharesWith(['b']), [[], [0, 1, 2, 3], []])
  assert.deepEqual(sharesWith([]), [[0, 1], [2], [3]])
})

test('an assignment is announced when it changes', () => {
  const ownership = new AssignedPartitions()
  const seen: Array<readonly number[]> = []
  const stop = ownership.onChange(() => seen.push(ownership.ownedPartitions()))
  for (const [generation, partitions] of [[0, 1], [0, 1], []].entries()) ownership.assign(partitions, generation)
  assert.equal(ownership.generation, 2)
  stop()
  ownership.assign([2])
  assert.deepEqual(seen, [[0, 1], []])
  assert.equal(ownership.generation, 2)
})

test('a number of partitions is a power of two up to 1,024', () => {
  assert.deepEqual([0, 1, 2, 3, 4, 6, 512, 1_024, 2_048, 1.5].filter(isPartitionCount), [1, 2, 4, 512, 1_024])
})
