import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { bearer, connect, events, type ServerSentEvent } from '../../src/index.ts'
import { EventParser } from '../../src/stream/event-parser.ts'
import { problem, type Reaction, ScriptedServer } from '../support/scripted-server.ts'

const request = { method: 'GET', path: '/v1/events' }

/** A stream of these texts, which then ends, breaks, or stays open. */
function stream(texts: readonly string[], then: 'end' | 'break' | 'open' = 'end'): Response {
  const pieces = texts.map((text) => new TextEncoder().encode(text))
  const body = new ReadableStream({
    pull(controller) {
      const piece = pieces.shift()
      if (piece) controller.enqueue(piece)
      else if (then === 'end') controller.close()
      else if (then === 'break') controller.error(new TypeError('terminated'))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

describe('the parser of server-sent events', () => {
  const text =
    ': hello\nretry: 3000\n\nid: 1\nevent: change\ndata: {"a":\ndata: 1}\n\ndata:plain\r\n\r\nid: 2\rdata\r\r'
  const parsed: ServerSentEvent[] = [
    { event: 'change', id: '1', data: { a: 1 } },
    { event: 'message', id: '1', data: 'plain' },
    { event: 'message', id: '2', data: '' },
  ]

  test('answers the same however the text is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 12 }), (places) => {
        const cuts = [0, ...places.sort((a, b) => a - b), text.length]
        const parser = new EventParser('')
        const found = cuts.slice(1).flatMap((end, index) => parser.push(text.slice(cuts[index], end)))
        // What ends in \r is complete with the next character.
        assert.deepEqual([...found, ...parser.push('\n')], parsed)
        assert.deepEqual([parser.retryMs, parser.lastEventId], [3_000, '2'])
      }),
    )
  })

  test('resumes before an event that was cut off, and refuses one without end', () => {
    const parser = new EventParser('7')
    assert.deepEqual(parser.push('id: 8\ndata: half'), [])
    assert.equal(parser.lastEventId, '7')
    assert.throws(() => parser.push('x'.repeat(2 ** 20)), { code: 'invalid_response' })
  })
})

describe('a stream of events', () => {
  /** Reads so many events of a server that reacts in turn, and answers them with the server. */
  async function readEvents(count: number, reactions: readonly Reaction[], options = {}) {
    const left = [...reactions]
    const server = new ScriptedServer(() => left.shift() ?? 204)
    const tokens = ['a', 'b', 'c', 'd']
    const credentials = bearer(() => tokens[Math.min(3, server.requests.length)] ?? '')
    const connection = connect(server.options({ credentials }))
    const read = async () => {
      const found: unknown[] = []
      for await (const { id, data } of events(connection, request, options)) {
        found.push([id, data])
        if (found.length === count) break
      }
      return found
    }
    return { found: await server.clock.settle(read()), server }
  }

  test('goes on after the last event when it ends or breaks, with the token of then', async () => {
    const { found, server } = await readEvents(4, [
      stream(['retry: 2000\n\n', 'id: 1\ndata: 1\n\nid: 2\ndata: 2\n\n']),
      stream(['id: 3\ndata: 3\n\nid: 4\nda'], 'break'),
      stream(['id: 4\ndata: 4\n\n'], 'open'),
    ])
    assert.deepEqual(found, [
      ['1', 1],
      ['2', 2],
      ['3', 3],
      ['4', 4],
    ])
    const seen = server.requests.map(({ headers }) => [headers.get('last-event-id'), headers.get('authorization')])
    assert.deepEqual(seen, [
      [null, 'Bearer a'],
      ['2', 'Bearer b'],
      ['3', 'Bearer c'],
    ])
    assert.equal(server.requests[0]?.headers.get('accept'), 'text/event-stream')
    // Three quarters of what the server wants between attempts: half, and half of the jitter.
    const [first = 0, second = 0, third = 0] = server.requests.map(({ at }) => at)
    assert.deepEqual([second - first, third - second], [1_500, 1_500])
    assert.equal(server.clock.pending, 0)
  })

  test('is opened again when it falls silent, and waits longer after each failure', async () => {
    const { server } = await readEvents(1, [
      stream([], 'open'),
      'broken',
      'broken',
      problem(503, {}, { 'retry-after': '20' }),
      stream(['data: 1\n\n'], 'open'),
    ])
    const times = server.requests.map(({ at }) => at)
    const waits = times.slice(1).map((at, index) => at - (times[index] ?? 0))
    assert.deepEqual(waits, [60_750, 1_500, 3_000, 20_000])
  })

  test('ends when the server has no more, begins after a named event, and fails when refused', async () => {
    const { found, server } = await readEvents(1, [204], { lastEventId: '41' })
    assert.deepEqual([found, server.requests[0]?.headers.get('last-event-id')], [[], '41'])
    await assert.rejects(readEvents(1, [problem(403)]), { code: 'permission_denied' })
    await assert.rejects(readEvents(1, [Response.json({ items: [] })]), { code: 'invalid_response' })
  })

  test('lets go of its connection when the loop is left or its signal aborted', async () => {
    const left: string[] = []
    const body = () =>
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode('data: 1\n\n')),
        cancel: () => void left.push('cancelled'),
      })
    const headers = { 'content-type': 'text/event-stream; charset=utf-8' }
    const server = new ScriptedServer(() => new Response(body(), { headers }))
    const connection = connect(server.options())
    for await (const _ of events(connection, request)) break
    const controller = new AbortController()
    const read = async () => {
      for await (const _ of events(connection, request, { signal: controller.signal }))
        controller.abort(new Error('left'))
    }
    await assert.rejects(server.clock.settle(read()), /left/)
    assert.deepEqual([left, server.clock.pending], [['cancelled', 'cancelled'], 0])
  })
})
