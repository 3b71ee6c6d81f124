import type { BearerObserver } from '@gatehouse/bearer'
import { Counter, Gauge, type Log, type Registry } from '@gatehouse/kit'

/** Counts what the bearer check reports, and logs what an operator should look at. Hand it to `createBearer`. */
export function observeBearer(registry: Registry, log: Log): BearerObserver {
  const registers = [registry]
  const tokens = new Counter({
    name: 'bearer_tokens_total',
    help: 'Bearer tokens seen: known ones were remembered, new ones verified',
    labelNames: ['seen'] as const,
    registers,
  })
  const [known, fresh] = [tokens.labels('known'), tokens.labels('new')]
  const stale = new Gauge({
    name: 'jwks_stale_seconds',
    help: "Age of the issuer's keys while they can't be read anew; 0 while they can",
    registers,
  })
  const failures = new Counter({
    name: 'jwks_failures_total',
    help: "How often the issuer's keys could not be read",
    registers,
  })
  const silent = new Gauge({
    name: 'revocation_feed_silent_seconds',
    help: 'How long the revocation feed could not be read; 0 while it can',
    registers,
  })
  return {
    tokenChecked: (seen) => (seen.cached ? known : fresh).inc(),
    keysLoaded() {
      stale.set(0)
    },
    keysFailed({ cause, staleMs }) {
      failures.inc()
      stale.set((staleMs ?? 0) / 1000)
      log.warn({ err: cause, stale_ms: staleMs }, "the issuer's keys cannot be read")
    },
    revocationsRead() {
      silent.set(0)
    },
    revocationsFailed({ cause, staleMs }) {
      silent.set(staleMs / 1000)
      log.error({ err: cause, stale_ms: staleMs }, 'the revocation feed cannot be read')
    },
  }
}
