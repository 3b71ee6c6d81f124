import { Counter, Gauge, type Registry } from '@gatehouse/kit'
import type { BreakerState, Decision } from '@gatehouse/limiter'

/** What the gateway counts. */
export interface GatewayMetrics {
  /** Counts a decision by route template and tier. */
  recordDecision(route: string, decision: Decision): void
  /** Counts a plan lookup that failed. */
  recordPlanFailure(): void
  /** Counts a period of the history of limits that was lost. */
  recordLostPeriod(): void
  /** Sets the state of an upstream's breaker. */
  setBreaker(upstream: string, state: BreakerState): void
}

/** The values of a breaker gauge. */
export const breakerValue = { closed: 0, 'half-open': 1, open: 2 } as const

const labelNames = ['route', 'tier'] as const

/**
 * Registers the gateway's counters and the breakers of its upstreams, closed. Labels are route templates and the names
 * of tiers and policies, never raw paths.
 */
export function createGatewayMetrics(registry: Registry, upstreams: Iterable<string> = []): GatewayMetrics {
  const { allowed, rejected, shadow, plans, breakers, lost } = createMetrics(registry)
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
    recordLostPeriod: () => lost.inc(),
  }
}

function createMetrics(registry: Registry) {
  const registers = [registry]
  return {
    allowed: new Counter({
      name: 'rate_limit_allowed_total',
      help: 'Requests that the rate limiter allowed',
      labelNames,
      registers,
    }),
    rejected: new Counter({
      name: 'rate_limit_rejected_total',
      help: 'Requests that the rate limiter rejected',
      labelNames,
      registers,
    }),
    shadow: new Counter({
      name: 'rate_limit_shadow_rejected_total',
      help: 'Requests that a shadow rule would have rejected',
      labelNames: ['route', 'tier', 'rule'] as const,
      registers,
    }),
    plans: new Counter({
      name: 'gateway_plan_lookup_failures_total',
      help: 'Plan lookups that failed',
      registers,
    }),
    lost: new Counter({
      name: 'gateway_limit_history_lost_total',
      help: 'Periods of ten seconds that the shared history of limits did not accept',
      registers,
    }),
    breakers: new Gauge({
      name: 'gateway_upstream_breaker',
      help: 'Breaker of an upstream: 0 closed, 1 probing, 2 open',
      aggregator: 'max',
      labelNames: ['upstream'] as const,
      registers,
    }),
  }
}
