import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics, silentLog } from '@gatehouse/kit'
import { type CounterStore, createLimiter, definePolicy, hybridStore, memoryStore } from '@gatehouse/limiter'
import { countUnconfirmedUnits, observeLimiter } from '../../src/index.ts'
import { setup } from '../support/setup.ts'

test('breakers of the counter store and of each upstream are reported from the start', async () => {
  const { metrics } = await setup({ upstreams: { orders: { url: 'http://127.0.0.1:9' } } })
  observeLimiter(metrics, silentLog)
  const text = await metrics.metrics()
  assert.match(text, /^rate_limit_store_breaker\{scope="standard"\} 0$/m)
  assert.match(text, /^rate_limit_store_breaker\{scope="fail_closed"\} 0$/m)
  assert.match(text, /^gateway_upstream_breaker\{upstream="orders"\} 0$/m)
})

test('responses, timeouts and failures of the counter store and its breaker are reported', async () => {
  const metrics = createMetrics()
  const memory = memoryStore()
  let answer: CounterStore['acquire'] = async (...args) => memory.acquire(...args)
  const store: CounterStore = { ...memory, acquire: (...args) => answer(...args) }
  const limiter = createLimiter({ store, deadlineMs: 10_000, observer: observeLimiter(metrics, silentLog) })
  const policy = definePolicy('p', [{ name: 'p', limit: 100, windowMs: 60_000 }])
  const check = async () => void (await limiter.check(policy, { kind: 'user', id: 'u1' }))
  await check()
  answer = () => Promise.reject(new Error('away'))
  for (let i = 0; i < 5; i++) {
    await check()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const shown = async (name: string) => (await metrics.getSingleMetricAsString(name)).split('\n').at(-1)
  assert.equal(await shown('rate_limit_store_seconds'), 'rate_limit_store_seconds_count 1')
  assert.equal(await shown('rate_limit_store_timeouts_total'), 'rate_limit_store_timeouts_total 0')
  assert.equal(await shown('rate_limit_store_failures_total'), 'rate_limit_store_failures_total 5')
  assert.match(await metrics.metrics(), /^rate_limit_store_breaker\{scope="standard"\} 2$/m)
})

test('units of hybrid limits whose call of the counter store failed are counted', async () => {
  const metrics = createMetrics()
  const memory = memoryStore()
  const shared: CounterStore = { ...memory, add: () => Promise.reject(new Error('away')) }
  shared.acquire = async (request) => memory.acquire(request)
  const store = hybridStore(shared, { instances: 1, intervalMs: 0, onUnconfirmed: countUnconfirmedUnits(metrics) })
  const policy = definePolicy('p', [{ name: 'p', limit: 1_000, windowMs: 60_000 }], { advisory: true })
  const check = async (now: number) =>
    store.acquire({ policy, identifier: { kind: 'user', id: 'u1' }, cost: 3, now: Date.UTC(2026, 0, 1) + now })
  for (const now of [59_000, 59_000, 59_000, 60_000]) await check(now)
  await store.reconcile()
  const text = await metrics.metrics()
  assert.match(text, /^rate_limit_unconfirmed_units_total 9$/m)
})
