import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Counter, createMetrics, Gauge, Histogram, type Registry, readSnapshot } from '@gatehouse/kit'
import { WorkerMetrics } from '../../src/supervisor/worker-metrics.ts'

/** A worker's registry with a metric of each kind. */
function worker() {
  const registry = createMetrics()
  const registers = [registry]
  return {
    registry,
    sent: new Counter({ name: 'sent_total', help: 'Sent', labelNames: ['channel'], registers }),
    seconds: new Histogram({ name: 'call_seconds', help: 'Calls', buckets: [1], registers }),
    open: new Gauge({ name: 'open', help: 'Open', registers }),
    age: new Gauge({ name: 'age', help: 'Age', aggregator: 'max', registers }),
    cpu: new Counter({ name: 'process_cpu_seconds_total', help: 'CPU', registers }),
    memory: new Gauge({ name: 'process_resident_memory_bytes', help: 'Memory', aggregator: 'omit', registers }),
  }
}

async function record(metrics: WorkerMetrics<string>, label: string, registry: Registry): Promise<void> {
  metrics.record(label, label, structuredClone(await readSnapshot(registry)))
}

const valuesIn = (text: string): string[] => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))

test('counters of workers are summed, gauges combined as declared, the process stays apart', async () => {
  const metrics = new WorkerMetrics<string>()
  for (const [label, n] of [
    ['1', 1],
    ['2', 2],
  ] as const) {
    const { registry, sent, seconds, open, age, cpu, memory } = worker()
    sent.inc({ channel: 'sms' }, n)
    seconds.observe(n)
    open.set(n)
    age.set(n)
    cpu.inc(n)
    memory.set(n)
    await record(metrics, label, registry)
  }
  const text = await metrics.format(new Set(['1', '2']))
  assert.deepEqual(valuesIn(text), [
    'sent_total{channel="sms"} 3',
    'call_seconds_bucket{le="1"} 1',
    'call_seconds_bucket{le="+Inf"} 2',
    'call_seconds_sum 3',
    'call_seconds_count 2',
    'open 3',
    'age 2',
    'process_cpu_seconds_total{worker="1"} 1',
    'process_cpu_seconds_total{worker="2"} 2',
    'process_resident_memory_bytes{worker="1"} 1',
    'process_resident_memory_bytes{worker="2"} 2',
  ])
  assert.match(text, /^# TYPE call_seconds histogram$/m)
})

test('totals of a worker that ended stay, its gauges go, and its successor adds to them', async () => {
  const metrics = new WorkerMetrics<string>()
  const first = worker()
  first.sent.inc({ channel: 'sms' }, 5)
  first.open.set(7)
  first.cpu.inc(2)
  await record(metrics, '1', first.registry)
  metrics.end('1')
  const second = worker()
  second.sent.inc({ channel: 'sms' }, 1)
  second.cpu.inc(1)
  await record(metrics, '1', second.registry)
  const values = valuesIn(await metrics.format(new Set(['1'])))
  assert.ok(values.includes('sent_total{channel="sms"} 6'))
  assert.ok(values.includes('process_cpu_seconds_total{worker="1"} 3'))
  assert.ok(values.includes('open 0'))
})

test('a worker that does not respond keeps its totals in the sum, and its gauges are left out', async () => {
  const metrics = new WorkerMetrics<string>()
  const { registry, sent, open } = worker()
  sent.inc({ channel: 'sms' }, 5)
  open.set(7)
  await record(metrics, '1', registry)
  const text = await metrics.format(new Set())
  assert.match(text, /^sent_total\{channel="sms"\} 5$/m)
  assert.doesNotMatch(text, /^open /m)
})

test('a sum of fractions is never reported lower than before when a worker ends', async () => {
  const metrics = new WorkerMetrics<string>()
  for (const [label, value] of [
    ['1', 0.1],
    ['2', 0.2],
    ['3', 0.3],
  ] as const) {
    const { registry, seconds } = worker()
    seconds.observe(value)
    await record(metrics, label, registry)
  }
  const sum = (text: string) => Number(/^call_seconds_sum (\S+)$/m.exec(text)?.[1])
  const before = sum(await metrics.format(new Set()))
  for (const label of ['3', '2', '1']) {
    metrics.end(label)
    assert.ok(sum(await metrics.format(new Set())) >= before)
  }
})
