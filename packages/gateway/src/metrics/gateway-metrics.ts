import { Counter, Gauge, type Registry } from '@gatehouse/kit'
import type { BreakerState, Decision } from '@gatehouse/limiter'

/** What the gateway counts. */
export interface GatewayMetrics {
  /** One decision, by route template and tier. */
  recordDecision(route: string, decision: Decision): void
  /** A plan could not be looked up. */
  recordPlanFailure(): void
  /** An upstream's breaker changed its state. */
  setBreaker(upstream: string, state: BreakerState): void
}

/** A breaker's state as a gauge shows it. */
export const breakerValue = { closed: 0, 'half-open': 1, open: 2 } as const

const labelNames = ['route', 'tier'] as const

/** Registers the gateway's counters and its upstreams' breakers, closed. Labels are route templates and tier or policy names, never raw paths. */
export function createGatewayMetrics(registry: Registry, upstreams: Iterable<string> = []): GatewayMetrics {
  const registers = [registry]
  const allowed = new Counter({
    name: 'rate_limit_allowed_total',
    help: 'Requests that the rate limiter let through',
    labelNames,
    registers,
  })
  const rejected = new Counter({
    name: 'rate_limit_rejected_total',
    help: 'Requests that the rate limiter rejected',
    labelNames,
    registers,
  })
  const shadow = new Counter({
    name: 'rate_limit_shadow_rejected_total',
    help: 'Requests that a shadow rule would have rejected',
    labelNames: ['route', 'tier', 'rule'] as const,
    registers,
  })
  const plans = new Counter({
    name: 'gateway_plan_lookup_failures_total',
    help: 'Plans that could not be looked up',
    registers,
  })
  const breakers = new Gauge({
    name: 'gateway_upstream_breaker',
    help: 'Breaker before an upstream: 0 closed, 1 probing, 2 open',
    labelNames: ['upstream'] as const,
    registers,
  })
  for (const upstream of upstreams) breakers.set({ upstream }, breakerValue.closed)
  return {
    setBreaker: (upstream, state) => breakers.set({ upstream }, breakerValue[state]),
    recordDecision(route, decision) {
      const tier = decision.policy.tier
      ;(decision.allowed ? allowed : rejected).inc({ route, tier })
      if (!decision.policy.rules.some((rule) => rule.shadow)) return
      for (const rule of decision.rules) if (rule.shadow && !rule.allowed) shadow.inc({ route, tier, rule: rule.name })
    },
    recordPlanFailure: () => plans.inc(),
  }
}
