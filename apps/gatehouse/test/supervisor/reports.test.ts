import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Counter, createMetrics, readSnapshot } from '@gatehouse/kit'
import type { Topic } from '../../src/process/messages.ts'
import { type Reporter, Reports } from '../../src/supervisor/reports.ts'

/** A worker that sent so many messages; it answers when it is let to. */
class Worker implements Reporter {
  readonly number: number
  readonly worker: string
  readonly questions: Array<{ readonly topic: Topic; readonly answer: (content: unknown) => void }> = []
  readonly #metrics = createMetrics()

  constructor(number: number, sent: number) {
    this.number = number
    this.worker = String(number)
    new Counter({ name: 'sent_total', help: 'Sent', registers: [this.#metrics] }).inc(sent)
  }

  ask(topic: Topic): Promise<unknown> {
    return new Promise((answer) => this.questions.push({ topic, answer }))
  }

  /** Answers the oldest question. */
  async reply(): Promise<void> {
    const { topic, answer } = this.questions.shift() ?? assert.fail('nobody asks')
    answer(topic === 'metrics' ? await readSnapshot(this.#metrics) : { status: 'ready', engines: { database: 'ok' } })
  }
}

const sentIn = (text: string) => Number(/^sent_total (\d+)$/m.exec(text)?.[1])

test('what a worker counted is reported once, however it ends while others are asked', async () => {
  const [first, second] = [new Worker(1, 5), new Worker(2, 3)]
  let listening = [first, second]
  const reports = new Reports(createMetrics(), () => ({ listening, missing: [] }))
  const before = reports.metrics()
  await Promise.all([first.reply(), second.reply()])
  assert.equal(sentIn(await before), 8)
  const during = reports.metrics()
  await first.reply()
  reports.end(first, 'crashed')
  listening = [second]
  await second.reply()
  assert.equal(sentIn(await during), 8)
  reports.record(first, [])
  const again = reports.metrics()
  await second.reply()
  assert.equal(sentIn(await again), 8, 'and no more of it is found later')
})

test('workers are asked once at a time, however many wait for the answer', async () => {
  const worker = new Worker(1, 5)
  const reports = new Reports(createMetrics(), () => ({ listening: [worker], missing: [2] }))
  for (const topic of ['metrics', 'readiness'] as const) {
    const answers = Array.from({ length: 100 }, () => reports.answer(topic))
    assert.equal(worker.questions.length, 1)
    await worker.reply()
    assert.equal(new Set(await Promise.all(answers)).size, 1)
    const later = reports.answer(topic)
    assert.equal(worker.questions.length, 1, 'and again after it')
    await worker.reply()
    await later
  }
})

test('a worker that is missing is named', async () => {
  const worker = new Worker(1, 5)
  const reports = new Reports(createMetrics(), () => ({ listening: [worker], missing: [2] }))
  const readiness = reports.readiness()
  await worker.reply()
  assert.deepEqual(await readiness, {
    status: 'degraded',
    engines: { database: 'ok', workers: '2 of 2 do not respond' },
  })
  const metrics = reports.metrics()
  await worker.reply()
  assert.match(await metrics, /^gatehouse_worker_up\{worker="2"\} 0$/m)
})
