import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import fc from 'fast-check'
import { Agendas } from '../../src/agenda/agendas.ts'
import { formatHint, parseHint, receiveHints, sendHints } from '../../src/agenda/shared-hints.ts'
import { workKinds } from '../../src/model/work/work-kind.ts'
import type { HintExchange, HintHandlers } from '../../src/store/ownership.ts'

const now = 1_000_000

/** Two processes, the first of which owns the buckets 0 and 1, and what they send each other. */
function createProcesses() {
  const sent: string[] = []
  const handlers: HintHandlers[] = []
  const exchange: HintExchange = {
    publish(hints) {
      const texts = [...hints]
      sent.push(...texts)
      for (const each of handlers) each.onHints(texts)
    },
    listen(each) {
      handlers.push(each)
      return async () => {}
    },
  }
  const leases: number[] = []
  const create = (owned: readonly number[]) => {
    const agendas = new Agendas({ count: 4, sweepMs: 60_000, elapsed: () => 0 })
    agendas.own(owned)
    for (const kind of workKinds) agendas.of(kind).visited(owned)
    sendHints({ exchange, agendas, horizonMs: 10_000, clock: manualClock(now) })
    receiveHints({ exchange, agendas, onLeases: () => leases.push(now), onGap() {} })
    return agendas
  }
  return { sent, exchange, leases, first: create([0, 1]), second: create([2, 3]) }
}

test('a hint for a bucket of another process reaches it, and no other', () => {
  const { first, second, sent } = createProcesses()
  first.hint('schedule', [0, 2])
  assert.deepEqual(sent, ['4.2'])
  assert.deepEqual(first.of('schedule').take(now), [0])
  assert.deepEqual(second.of('schedule').take(now), [2])
})

test('a hint for a time to come is kept until then, and one for much later is not sent', () => {
  const { first, second, sent } = createProcesses()
  first.hint('schedule', [2], now + 5_000)
  first.hint('schedule', [3], now + 11_000)
  assert.equal(sent.length, 1)
  assert.deepEqual(second.of('schedule').take(now + 4_999), [])
  assert.deepEqual(second.of('schedule').take(now + 5_000), [2])
})

test('a process that owns nothing hints to all others at once, for all buckets', () => {
  const { first, second, exchange, sent } = createProcesses()
  const producer = new Agendas({ count: 4, sweepMs: 60_000 })
  sendHints({ exchange, agendas: producer, horizonMs: 10_000, clock: manualClock(now) })
  producer.hint('resume')
  assert.deepEqual(sent, ['5.*'])
  assert.deepEqual(
    [first.of('resume').take(now), second.of('resume').take(now)],
    [
      [0, 1],
      [2, 3],
    ],
  )
})

test('what another version of the program says is ignored, and a change of leases is passed on', () => {
  const { exchange, first, leases } = createProcesses()
  exchange.publish(['99.1', 'nonsense', '0.x', 'leases'])
  assert.equal(leases.length, 2)
  for (const kind of workKinds) assert.deepEqual(first.of(kind).take(now), [])
})

test('a hint is parsed as it was formatted', () => {
  const hint = fc.record(
    { kind: fc.constantFrom(...workKinds), bucket: fc.nat(32_766), dueAt: fc.nat(10_000_000).map((s) => s * 1_000) },
    { requiredKeys: ['kind'] },
  )
  fc.assert(fc.property(hint, (each) => assert.deepEqual(parseHint(formatHint(each)), { ...each })))
})
