import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { createMetrics, manualClock, Problem } from '@gatehouse/kit'
import { LiveStreams, parseCounters } from '../../../src/compose/system/live.ts'

/** A response that keeps what is written. */
class Kept extends EventEmitter {
  readonly texts: string[] = []
  writableLength = 0
  ended = false
  write(text: string): boolean {
    this.texts.push(text)
    return true
  }
  end(): void {
    this.ended = true
  }
  destroyed = false
  destroy(): void {
    this.destroyed = true
  }
}

const text = `# HELP notify_outcomes_total x
notify_outcomes_total{channel="email",outcome="queued"} 12
identity_logins_total{method="password",outcome="success"} 3
process_cpu_seconds_total 1.5
`
const responseOf = (kept: Kept) => kept as unknown as ServerResponse
const until = async (isSo: () => boolean) => {
  while (!isSo()) await new Promise(setImmediate)
}

test('counters are read from the metrics of the program, and no others', async () => {
  assert.deepEqual(parseCounters(text), [
    { name: 'notify_outcomes_total', labels: { channel: 'email', outcome: 'queued' }, value: 12 },
    { name: 'identity_logins_total', labels: { method: 'password', outcome: 'success' }, value: 3 },
  ])
  assert.deepEqual(parseCounters(await createMetrics({ processMetrics: true }).metrics()), [])
})

test('a stream begins with the counters of its topics, and ends when it is ended', async () => {
  const streams = new LiveStreams(async () => text, manualClock())
  const kept = new Kept()
  const end = streams.add(responseOf(kept), ['sign-ins'], 'alice')
  await until(() => kept.texts.length > 0)
  const [, data = ''] = /^event: counters\ndata: (.*)\n\n$/.exec(kept.texts[0] ?? '') ?? []
  const { counters } = JSON.parse(data) as { counters: { name: string }[] }
  assert.deepEqual(
    counters.map(({ name }) => name),
    ['identity_logins_total'],
  )
  end()
  assert.ok(kept.ended)
})

test('streams are bounded for a reader and for the process', () => {
  const streams = new LiveStreams(async () => text, manualClock())
  const open = (reader: string) => {
    streams.admit(reader)
    streams.add(responseOf(new Kept()), ['sign-ins'], reader)
  }
  for (let n = 0; n < 5; n++) open('alice')
  assert.throws(
    () => open('alice'),
    (error) => error instanceof Problem && error.status === 429,
  )
  for (let n = 5; n < 100; n++) open(`reader ${n}`)
  assert.throws(
    () => open('bob'),
    (error) => error instanceof Problem && error.status === 503,
  )
  streams.close()
  open('alice')
  streams.close()
})

test('a reader that takes nothing is cut off, and one that left is forgotten', async () => {
  const streams = new LiveStreams(async () => text, manualClock())
  const [slow, gone] = [new Kept(), new Kept()]
  slow.writableLength = 1024 * 1024
  streams.add(responseOf(slow), ['notifications'], 'alice')
  await until(() => slow.ended)
  assert.ok(slow.destroyed, 'its connection does not wait until it takes the rest')
  streams.add(responseOf(gone), ['notifications'], 'alice')
  gone.emit('close')
  for (let n = 0; n < 5; n++) streams.admit('alice')
  streams.close()
})
