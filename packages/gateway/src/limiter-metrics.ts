import { Counter, Gauge, Histogram, type Log, type Registry } from '@gatehouse/kit'
import type { LimiterOptions } from '@gatehouse/limiter'
import { breakerValue } from './metrics.ts'

/**
 * Counts how the counter store fares, and logs when its breaker opens and closes. Hand it to `createLimiter`. Decisions
 * are counted by the gateway itself, which knows their routes.
 */
export function observeLimiter(registry: Registry, log: Log): NonNullable<LimiterOptions['observer']> {
  const registers = [registry]
  const latency = new Histogram({
    name: 'rate_limit_store_seconds',
    help: 'How long the counter store took to answer',
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.025, 0.25],
    registers,
  })
  const counter = (name: string, help: string) => new Counter({ name, help, registers })
  const timeouts = counter('rate_limit_store_timeouts_total', 'Checks that the counter store did not answer in time')
  const failures = counter('rate_limit_store_failures_total', 'Checks that the counter store answered with an error')
  const restored = counter('rate_limit_store_restored_total', 'Lost counters that were restored in the store')
  const breaker = new Gauge({
    name: 'rate_limit_store_breaker',
    help: 'State of the circuit breaker of the counter store by scope: 0 closed, 1 half-open, 2 open',
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
      breaker.set({ scope }, breakerValue[state])
      if (state !== 'half-open') log.warn({ scope }, `the circuit breaker of the counter store is ${state}`)
    },
  }
}

/** Counts how often the counter store's clock was found to have moved: for the store's `onClockMoved`. */
export function countClockMoves(registry: Registry): () => void {
  const moves = new Counter({
    name: 'rate_limit_store_clock_moves_total',
    help: "How often the counter store's clock was not where it had been",
    registers: [registry],
  })
  return () => moves.inc()
}

/** Shows whether the counter store may evict counters, once that is known. */
export function showEviction(registry: Registry): (mayEvict: boolean) => void {
  const evicting = new Gauge({
    name: 'rate_limit_store_may_evict',
    help: '1 when the counter store evicts keys at the end of its memory: limits that fail closed need one that does not',
    registers: [registry],
  })
  return (mayEvict) => evicting.set(mayEvict ? 1 : 0)
}

/** Shows how many gateways share the counters at this moment. */
export function showGateways(registry: Registry, living: () => number): void {
  new Gauge({
    name: 'rate_limit_gateways',
    help: 'Gateways that share the counters; each spends its share of what is counted locally',
    registers: [registry],
    collect() {
      this.set(living())
    },
  })
}

/** Shows how many identifiers are asked for so often that they are counted in portions. */
export function showHotKeys(registry: Registry, hotKeys: () => number): void {
  new Gauge({
    name: 'rate_limit_hot_keys',
    help: 'Identifiers that this process counts in portions, because they are asked for so often',
    registers: [registry],
    collect() {
      this.set(hotKeys())
    },
  })
}

/** Counts the identifiers that a memory store had to forget while they still mattered: its `onUnexpiredEviction`. */
export function countEvictions(registry: Registry): () => void {
  const evictions = new Counter({
    name: 'rate_limit_unexpired_evictions_total',
    help: 'Identifiers that were forgotten although their counters still mattered',
    registers: [registry],
  })
  return () => evictions.inc()
}
