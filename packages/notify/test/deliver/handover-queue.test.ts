import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HandoverQueue } from '../../src/deliver/claims/handover-queue.ts'
import type { ClaimedDelivery } from '../../src/store/store.ts'

const claimed = (deliveryId: string, event = 'order.shipped', critical = false): ClaimedDelivery => ({
  bucket: 0,
  deliveryId,
  userId: 'alice',
  channel: 'email',
  event,
  critical,
  attempt: 1,
  failures: 0,
  crashes: 0,
  sensitive: false,
  message: { body: 'on its way', locale: 'en', targets: [{ id: 'email', address: 'alice@example.com' }] },
  suppressions: [],
})

function queueOf(maxDeliveries = 10) {
  const released: string[] = []
  let added = 0
  const queue = new HandoverQueue({
    maxDeliveries,
    release: (deliveries) => released.push(...deliveries.map(({ deliveryId }) => deliveryId)),
    onAdded: () => added++,
  })
  /** Reserves room and hands over, as admission does. */
  const handOver = (deliveries: readonly ClaimedDelivery[], claimedAt = 1) => {
    for (const each of deliveries) assert.ok(queue.reserve(), each.deliveryId)
    queue.add({ deliveries, claimedAt, leaseEndsAt: claimedAt + 60_000 })
  }
  return { queue, released, handOver, added: () => added }
}

describe('the handover queue of a channel', () => {
  test('takes nothing until it is opened, and nothing more once it is closed', () => {
    const { queue, handOver } = queueOf()
    assert.equal(queue.reserve(), false)
    queue.open()
    handOver([claimed('a')])
    queue.close()
    assert.equal(queue.reserve(), false)
    assert.deepEqual(
      queue.take(10)?.deliveries.map(({ deliveryId }) => deliveryId),
      ['a'],
    )
    assert.equal(queue.take(10), undefined)
  })

  test('has room for as many as it may hold, those included that are reserved', () => {
    const { queue, handOver } = queueOf(2)
    queue.open()
    handOver([claimed('a')])
    assert.ok(queue.reserve())
    assert.equal(queue.reserve(), false)
    queue.cancel(1)
    assert.ok(queue.reserve())
  })

  test('gives what is critical first, then of each event type in turn', () => {
    const { queue, handOver, added } = queueOf()
    queue.open()
    handOver(['a1', 'a2', 'a3'].map((id) => claimed(id, 'a')))
    handOver([claimed('b1', 'b'), claimed('c1', 'c', true), claimed('b2', 'b')])
    assert.equal(added(), 2)
    const batches = [queue.take(4), queue.take(4)].map((each) => each?.deliveries.map(({ deliveryId }) => deliveryId))
    assert.deepEqual(batches, [
      ['c1', 'a1', 'b1', 'a2'],
      ['b2', 'a3'],
    ])
  })

  test('gives them the earliest of their claims and the first end of their leases', () => {
    const { queue, handOver } = queueOf()
    queue.open()
    handOver([claimed('a')], 7)
    handOver([claimed('b')], 5)
    const { claimedAt, leaseEndsAt } = queue.take(10) ?? assert.fail('nothing was handed over')
    assert.deepEqual([claimedAt, leaseEndsAt], [5, 60_005])
  })

  test('releases what waits when it is stopped, and what still comes', () => {
    const { queue, handOver, released, added } = queueOf()
    queue.open()
    handOver([claimed('a')])
    assert.ok(queue.reserve())
    queue.stop()
    queue.open()
    assert.deepEqual(released, ['a'])
    queue.add({ deliveries: [claimed('b')], claimedAt: 1, leaseEndsAt: 2 })
    assert.deepEqual(released, ['a', 'b'])
    assert.equal(added(), 1)
    assert.equal(queue.reserve(), false)
  })
})
