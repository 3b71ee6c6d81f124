import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsMsg } from '@nats-io/jetstream'
import { headers } from '@nats-io/transport-node'
import { headersOfMoved, orderedMessage } from '../../src/nats/message.ts'

const publishedAt = Date.UTC(2026, 10, 23)

/** A message as a consumer of JetStream has it: of a stream, at a place in it, published some microseconds later. */
function received(stream: string, streamSequence: number, microseconds: number): JsMsg {
  const info = { stream, streamSequence, timestampNanos: publishedAt * 1_000_000 + microseconds * 1_000 }
  return { info, data: new TextEncoder().encode('{}') } as JsMsg
}

/** The same in the stream of its partition. */
function moved(original: JsMsg, streamSequence: number): JsMsg {
  return { ...received('partition', streamSequence, 1_000_000), headers: headersOfMoved(original) }
}

const topicMessageOf = (message: JsMsg) => orderedMessage(message, () => {})

test('messages of several streams and partitions are in the order in which they were published', () => {
  const first = received('events', 900, 10)
  const second = received('events-2', 3, 20)
  const third = received('events', 901, 30)
  const places = [moved(first, 7), second, moved(third, 2)].map((message) => topicMessageOf(message).place)
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
  assert.equal(topicMessageOf(first).place, topicMessageOf(moved(first, 7)).place, 'it is moved, and keeps its place')
  assert.ok(places.every(Number.isSafeInteger))
})

test('headers of a producer that are not those of a moved message change nothing', () => {
  const original = received('events', 900, 10)
  for (const [key, time] of [
    ['x'.repeat(5_000), '1'],
    ['events:1:2', 'soon'],
    ['events:1', '1'],
  ] as const) {
    const forged = headers()
    forged.set('Gatehouse-Key', key)
    forged.set('Gatehouse-Published-At', time)
    const message = topicMessageOf({ ...original, headers: forged } as JsMsg)
    assert.equal(message.key, topicMessageOf(original).key)
    assert.equal(message.publishedAt, publishedAt)
  }
})

test('a message that is moved again keeps the key and the time of where it was published', () => {
  const first = received('events', 900, 10)
  const twice = moved(moved(first, 7), 8)
  assert.equal(topicMessageOf(twice).key, topicMessageOf(first).key)
  assert.equal(topicMessageOf(twice).publishedAt, publishedAt)
})
