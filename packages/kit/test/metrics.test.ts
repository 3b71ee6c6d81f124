import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Counter,
  combineSnapshots,
  createMetrics,
  formatSnapshot,
  Gauge,
  type MetricSnapshot,
  readSnapshot,
} from '../src/index.ts'

/** What a process with these values reports, after its way to another process. */
async function snapshot(
  sent: number,
  gauges: Partial<Record<'sum' | 'max' | 'min', number>>,
): Promise<MetricSnapshot[]> {
  const registry = createMetrics()
  new Counter({ name: 'sent_total', help: 'Sent', labelNames: ['to'], registers: [registry] }).inc(
    { to: '"a"\n' },
    sent,
  )
  for (const [aggregator, value] of Object.entries(gauges) as Array<['sum' | 'max' | 'min', number]>)
    new Gauge({ name: `gauge_${aggregator}`, help: aggregator, aggregator, registers: [registry] }).set(value)
  return structuredClone(await readSnapshot(registry))
}

test('metrics of processes are combined by label: counters summed, gauges as each declares', async () => {
  const combined = combineSnapshots([
    await snapshot(1, { sum: 2, max: 2, min: 2 }),
    await snapshot(10, { sum: 3, max: 3, min: 3 }),
  ])
  assert.deepEqual(
    combined.map(({ name, values }) => [name, values[0]?.value]),
    [
      ['sent_total', 11],
      ['gauge_sum', 5],
      ['gauge_max', 3],
      ['gauge_min', 2],
    ],
  )
  const again = combineSnapshots([combined, await snapshot(100, {})])
  assert.equal(again[0]?.values[0]?.value, 111, 'what was combined can be combined again')
})

test('a snapshot is formatted as the registry that it was read from', async () => {
  const registry = createMetrics()
  new Counter({ name: 'sent_total', help: 'Sent\nall', labelNames: ['to'], registers: [registry] }).inc({ to: '"a"\n' })
  assert.equal(await formatSnapshot(await readSnapshot(registry)), await registry.metrics())
})
