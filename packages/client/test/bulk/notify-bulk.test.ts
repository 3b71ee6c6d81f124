import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type BulkLine, connect, type NotifyRequest, notifyBulk } from '../../src/index.ts'
import { type Reaction, ScriptedServer, type SeenRequest } from '../support/scripted-server.ts'

const eventOf = (n: number): NotifyRequest => ({ event: 'order.shipped', user_id: `u${n}`, data: { n } })
const linesOf = ({ body }: SeenRequest): NotifyRequest[] =>
  body
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

/** A server that accepts every event, but those of `refuses`. */
function bulkServer(refuses: (n: number) => boolean = () => false, failures: readonly Reaction[] = []): ScriptedServer {
  const left = [...failures]
  return new ScriptedServer((request) => {
    const failure = left.shift()
    if (failure !== undefined) return failure
    const lines = linesOf(request).map(({ data }) =>
      refuses(Number(data.n))
        ? { status: 422, title: 'Unprocessable Content', detail: 'The event type is unknown.' }
        : { status: 202, id: `id-${data.n}`, deliveries: [] },
    )
    return new Response(`${lines.map((line) => JSON.stringify(line)).join('\n')}\n`)
  })
}

async function collect(lines: AsyncIterable<BulkLine>): Promise<BulkLine[]> {
  const found: BulkLine[] = []
  for await (const line of lines) found.push(line)
  return found
}

describe('a bulk call', () => {
  test('answers every event in order, the refused ones with their errors', async () => {
    const server = bulkServer((n) => n === 3)
    const events = Array.from({ length: 7 }, (_, n) => eventOf(n))
    const lines = await collect(notifyBulk(connect(server.options()), events, { batchSize: 3 }))
    const sent = server.requests.flatMap(linesOf)
    assert.deepEqual(
      sent.map(({ dedup_key: _, ...event }) => event),
      events,
    )
    assert.deepEqual(
      lines.map(({ index, event }) => [index, event]),
      sent.map((event, n) => [n, event]),
    )
    assert.deepEqual(lines[0], { ok: true, index: 0, event: sent[0], acceptance: { id: 'id-0', deliveries: [] } })
    const refused = lines.filter((line) => !line.ok)
    assert.deepEqual(
      refused.map(({ index, error }) => [index, error.code, error.message]),
      [[3, 'validation_failed', 'The event type is unknown.']],
    )
    assert.deepEqual(
      server.requests.map((request) => linesOf(request).length),
      [3, 3, 1],
    )
    assert.equal(server.requests[0]?.headers.get('content-type'), 'application/x-ndjson')
  })

  test('sends a batch again with the same keys: the own ones, and random ones for the others', async () => {
    const server = bulkServer(undefined, ['broken'])
    const events = [eventOf(0), { ...eventOf(1), dedup_key: 'mine' }, { ...eventOf(2), dedup_key: undefined as never }]
    const lines = await server.clock.settle(collect(notifyBulk(connect(server.options()), events)))
    assert.ok(lines.every(({ ok }) => ok))
    const [first, second] = server.requests
    assert.equal(first?.body, second?.body)
    const keys = first ? linesOf(first).map(({ dedup_key: key }) => key) : []
    assert.equal(keys[1], 'mine')
    assert.equal(new Set(keys.filter((key) => (key?.length ?? 0) > 3)).size, 3)
  })

  test('takes events as they are needed, and no more than a batch and one ahead', async () => {
    let consumed = 0
    let released = false
    async function* endless() {
      try {
        for (;;) yield eventOf(consumed++)
      } finally {
        released = true
      }
    }
    let seen = 0
    for await (const line of notifyBulk(connect(bulkServer().options()), endless(), { batchSize: 10 })) {
      seen = line.index + 1
      assert.ok(consumed <= seen + 11, `${consumed} events were consumed for ${seen}`)
      if (seen === 1_000) break
    }
    assert.ok(released)
  })

  test('splits batches by their length, and sends what is longer alone', async () => {
    const server = bulkServer()
    const long = (n: number) => ({ ...eventOf(n), data: { n, text: 'x'.repeat(600_000) } })
    const lines = await collect(notifyBulk(connect(server.options()), [long(0), long(1), eventOf(2)]))
    assert.ok(lines.every(({ ok }) => ok))
    assert.deepEqual(
      server.requests.map((request) => linesOf(request).length),
      [1, 2],
    )
  })

  test('that can not go on yields the events of the batch with the error, then ends with it', async () => {
    const server = bulkServer(undefined, [])
    const down = new ScriptedServer(
      (request, index) => (index === 0 ? server.fetch(request.url, request) : 503),
      server.clock,
    )
    const events = Array.from({ length: 9 }, (_, n) => eventOf(n))
    const found: BulkLine[] = []
    const read = async () => {
      for await (const line of notifyBulk(connect(down.options()), events, { batchSize: 3 })) found.push(line)
    }
    await assert.rejects(server.clock.settle(read()), { code: 'unavailable' })
    assert.deepEqual(
      found.map(({ ok }) => ok),
      [true, true, true, false, false, false],
    )
  })

  test('yields events that can be sent again: with the keys under which the server may have them', async () => {
    const stored: unknown[] = []
    const server = bulkServer()
    const breaking = new ScriptedServer((request, index) => {
      stored.push(...linesOf(request).map(({ dedup_key: key }) => key))
      return index < 4 ? 'broken' : server.fetch(request.url, request)
    }, server.clock)
    const connection = connect(breaking.options())
    const events = [eventOf(0), { ...eventOf(1), dedup_key: 'mine' }, eventOf(2)]
    const found: BulkLine[] = []
    const read = async () => {
      for await (const line of notifyBulk(connection, events)) found.push(line)
    }
    await assert.rejects(server.clock.settle(read()), { code: 'connection_failed' })
    const failed = found.flatMap(({ ok, event }) => (ok ? [] : [event]))
    assert.equal(failed.length, 3)
    const again = await collect(notifyBulk(connection, failed))
    assert.ok(again.every(({ ok }) => ok))
    assert.equal(stored.length, 15)
    assert.equal(new Set(stored).size, 3)
    assert.deepEqual(failed[1], events[1])
  })

  test('refuses an answer that is not one line for each event', async () => {
    for (const text of ['{"status":202}\n', 'nothing\nnothing\n']) {
      const server = new ScriptedServer(() => new Response(text))
      await assert.rejects(collect(notifyBulk(connect(server.options()), [eventOf(0), eventOf(1)])), {
        code: 'invalid_response',
      })
    }
  })
})
