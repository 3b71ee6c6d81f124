import type { BearerObserver } from '@gatehouse/bearer'
import { Counter, Gauge, type Log, type Registry } from '@gatehouse/kit'

/** Counts what the bearer check reports, and logs what an operator should look at. An observer for `createBearer`. */
export function observeBearer(registry: Registry, log: Log): BearerObserver {
  const { hits, misses, keysAge, keyFailures, feedAge } = createBearerMetrics(registry)
  return {
    tokenChecked: ({ cached }) => (cached ? hits : misses).inc(),
    keysLoaded: () => keysAge.set(0),
    keysFailed({ cause, staleMs }) {
      keyFailures.inc()
      keysAge.set((staleMs ?? 0) / 1000)
      log.warn({ err: cause, stale_ms: staleMs }, "the issuer's keys cannot be fetched")
    },
    revocationsRead: () => feedAge.set(0),
    revocationsFailed({ cause, staleMs }) {
      feedAge.set(staleMs / 1000)
      log.error({ err: cause, stale_ms: staleMs }, 'the revocation feed cannot be read')
    },
  }
}

function createBearerMetrics(registry: Registry) {
  const registers = [registry]
  const tokens = new Counter({
    name: 'bearer_tokens_total',
    help: 'Bearer tokens checked, by whether the verification cache had them (hit) or not (miss)',
    labelNames: ['cache'] as const,
    registers,
  })
  return {
    hits: tokens.labels('hit'),
    misses: tokens.labels('miss'),
    keysAge: new Gauge({
      name: 'jwks_stale_seconds',
      help: "Age of the issuer's keys while they cannot be fetched; 0 while they can",
      aggregator: 'max',
      registers,
    }),
    keyFailures: new Counter({
      name: 'jwks_fetch_failures_total',
      help: "Attempts to fetch the issuer's keys that failed",
      registers,
    }),
    feedAge: new Gauge({
      name: 'revocation_feed_stale_seconds',
      help: 'Time since the revocation feed was last read, while it cannot be read; 0 while it can',
      aggregator: 'max',
      registers,
    }),
  }
}
