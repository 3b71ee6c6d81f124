import { Counter, Gauge, Histogram, type Log, type Registry } from '@gatehouse/kit'
import type { LimiterOptions } from '@gatehouse/limiter'
import type { StoreWatch } from '../activity/store-watch.ts'
import { breakerValue } from './gateway-metrics.ts'

/**
 * Counts what the limiter reports about the counter store, and logs when its breaker opens and closes. An observer for
 * `createLimiter`. The gateway counts decisions itself, by route.
 *
 * @param watch remembers since when the store is unavailable
 */
export function observeLimiter(
  registry: Registry,
  log: Log,
  watch?: StoreWatch,
): NonNullable<LimiterOptions['observer']> {
  const registers = [registry]
  const latency = new Histogram({
    name: 'rate_limit_store_seconds',
    help: 'Response time of the counter store',
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.025, 0.25],
    registers,
  })
  const counter = (name: string, help: string) => new Counter({ name, help, registers })
  const timeouts = counter('rate_limit_store_timeouts_total', 'Checks without an answer from the counter store in time')
  const failures = counter('rate_limit_store_failures_total', 'Checks that failed in the counter store')
  const restored = counter('rate_limit_store_restored_total', 'Counters restored after the store lost them')
  const breaker = new Gauge({
    name: 'rate_limit_store_breaker',
    help: 'State of the circuit breaker of the counter store by scope: 0 closed, 1 half-open, 2 open',
    aggregator: 'max',
    labelNames: ['scope'] as const,
    registers,
  })
  for (const scope of ['standard', 'fail_closed'] as const) breaker.set({ scope }, breakerValue.closed)
  return {
    onStoreResponse: (milliseconds) => latency.observe(milliseconds / 1000),
    onStoreTimeout: () => timeouts.inc(),
    onStoreError: () => failures.inc(),
    onCountersRestored: () => restored.inc(),
    onBreakerChange(state, scope) {
      watch?.onBreakerChange(state, scope)
      breaker.set({ scope }, breakerValue[state])
      if (state !== 'half-open') log.warn({ scope }, `the circuit breaker of the counter store is ${state}`)
    },
  }
}

/** Counts clock jumps of the counter store: a callback for the store's `onClockStep`. */
export function countClockJumps(registry: Registry): () => void {
  const moves = new Counter({
    name: 'rate_limit_store_clock_jumps_total',
    help: 'Clock jumps of the counter store',
    registers: [registry],
  })
  return () => moves.inc()
}

/** Counts units of hybrid limits whose call of the counter store failed: a callback for `onUnconfirmed`. */
export function countUnconfirmedUnits(registry: Registry): (units: number) => void {
  const unconfirmed = new Counter({
    name: 'rate_limit_unconfirmed_units_total',
    help: 'Units counted here whose call of the counter store failed',
    registers: [registry],
  })
  return (units) => unconfirmed.inc(units)
}

/** Reports whether the counter store may evict counters, once that is known. */
export function reportEviction(registry: Registry): (mayEvict: boolean) => void {
  const evicting = new Gauge({
    name: 'rate_limit_store_may_evict',
    help: '1 when the counter store evicts keys when its memory is full; limits that fail closed need one that does not',
    aggregator: 'max',
    registers: [registry],
  })
  return (mayEvict) => evicting.set(mayEvict ? 1 : 0)
}

/** Reports how many gateways share the counters. */
export function reportGateways(registry: Registry, living: () => number): void {
  new Gauge({
    name: 'rate_limit_gateways',
    help: 'Gateways that share the counters. Each has a share of the limits that are counted locally',
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.set(living())
    },
  })
}

/** Reports how many identifiers are hot keys. */
export function reportHotKeys(registry: Registry, hotKeys: () => number): void {
  new Gauge({
    name: 'rate_limit_hot_keys',
    help: 'Hot keys of this process: identifiers so frequent that it counts them by local leases',
    registers: [registry],
    collect() {
      this.set(hotKeys())
    },
  })
}

/** Counts evictions of unexpired counters from a memory store: a callback for its `onUnexpiredEviction`. */
export function countEvictions(registry: Registry): () => void {
  const evictions = new Counter({
    name: 'rate_limit_unexpired_evictions_total',
    help: 'Identifiers evicted from memory before their counters expired',
    registers: [registry],
  })
  return () => evictions.inc()
}
