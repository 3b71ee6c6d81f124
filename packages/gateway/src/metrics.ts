import { Counter, type Registry } from '@gatehouse/kit'
import type { Decision } from '@gatehouse/limiter'

/** What the gateway counts. */
export interface GatewayMetrics {
  /** One decision, by route template and tier. */
  decided(route: string, decision: Decision): void
  /** A plan could not be looked up. */
  planFailed(): void
}

const labelNames = ['route', 'tier'] as const

/** Registers the gateway's counters. Labels are route templates and tier or policy names, never raw paths. */
export function createGatewayMetrics(registry: Registry): GatewayMetrics {
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
  return {
    decided(route, decision) {
      const tier = decision.policy.tier
      ;(decision.allowed ? allowed : rejected).inc({ route, tier })
      if (!decision.policy.rules.some((rule) => rule.shadow)) return
      for (const rule of decision.rules) if (rule.shadow && !rule.allowed) shadow.inc({ route, tier, rule: rule.name })
    },
    planFailed: () => plans.inc(),
  }
}
