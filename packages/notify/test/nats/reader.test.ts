import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '@gatehouse/kit'
import type { Consumer, JsMsg } from '@nats-io/jetstream'
import { Reader } from '../../src/nats/reader.ts'

/** A consumer that has these messages, and then is gone. */
function goneAfter(messages: readonly JsMsg[]): Consumer {
  const consume = async () => ({
    stop() {},
    async *[Symbol.asyncIterator]() {
      yield* messages
      throw new Error('the consumer is gone')
    },
  })
  return { consume } as unknown as Consumer
}

const turns = async () => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('a consumer that was gone is opened again once the messages under way are handled', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const handled = Promise.withResolvers<void>()
  let opened = 0
  const reader = new Reader({
    what: 'the topic',
    openConsumer: async () => (opened++ === 0 ? goneAfter([{} as JsMsg]) : undefined),
    handle: () => handled.promise,
    concurrency: 10,
    log: silentLog,
  })
  const pass = async () => {
    await turns()
    t.mock.timers.tick(5_000)
    await turns()
  }
  await pass()
  assert.equal(opened, 1)
  assert.equal(reader.fault?.message, 'the consumer is gone')
  handled.resolve()
  await pass()
  assert.ok(opened > 1)
  const stopping = reader.stop()
  await pass()
  await stopping
})
