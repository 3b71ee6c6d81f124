import type { Decision, Identifier, Policy, RuleDecision } from '@gatehouse/limiter'
import { keyPrefix } from './caller-key.ts'
import { LabelCounts } from './label-counts.ts'
import type { Outcome, Period, Rejection } from './period.ts'
import { SpaceSaving } from './space-saving.ts'

/** Slots of a sketch. */
const sketchSize = 500
/** Rejections that a process keeps. */
export const maxRejections = 1_000
/** Pairs of a policy and a route in one period; the routes of more are counted as one. */
const maxSeries = 2_000
const otherRoutes = 'other'

/** A limited request. */
export interface LimitedRequest {
  readonly route: string
  readonly identifier: Identifier
  readonly requestId?: string
}

/** The requests of a policy, or a combination of policies, on a route. */
interface Series {
  readonly policy: Policy
  readonly route: string
  /** The policies that count each caller; a shared one counts all together, so its use says nothing about one. */
  readonly prefix: string
  /** The policies that have rules in shadow. */
  readonly inShadow: readonly string[]
  allowed: number
  rejected: number
}

/**
 * Adds up decisions: who was allowed and rejected most, how many by label, and the last rejections. Memory is bounded
 * whatever callers there are, and an allowed request costs three lookups.
 */
export class Recorder {
  readonly #series = new Map<Policy, Map<string, Series>>()
  readonly #labels = new LabelCounts()
  #seriesCount = 0
  #allowed = new SpaceSaving(sketchSize)
  #rejected = new SpaceSaving(sketchSize)
  #rejections: Rejection[] = []
  #startedAt: number

  /** @param startedAt Unix milliseconds */
  constructor(startedAt: number) {
    this.#startedAt = startedAt
  }

  /** Records the decision on a request. */
  record(decision: Decision, request: LimitedRequest): void {
    const series = this.#seriesOf(decision.policy, request.route)
    if (decision.allowed) {
      series.allowed++
      this.#allowed.add(`${series.prefix}${request.identifier.kind}\n${request.identifier.id}`, decision.now)
    } else this.#recordRejection(series, decision, request)
    if (series.inShadow.length > 0) this.#recordShadow(series, decision)
  }

  /** What was recorded since the last call, as a period that ends now (Unix milliseconds). */
  take(now: number): Period {
    const period = this.current()
    this.#allowed = new SpaceSaving(sketchSize)
    this.#rejected = new SpaceSaving(sketchSize)
    this.#series.clear()
    this.#seriesCount = 0
    this.#labels.clear()
    this.#rejections = []
    this.#startedAt = now
    return period
  }

  /** What was recorded since the last call of `take`; it goes on being recorded. */
  current(): Period {
    const labels = this.#labels.copy()
    for (const routes of this.#series.values())
      for (const { policy, route, allowed, rejected } of routes.values()) {
        for (const { name } of partsOf(policy)) labels.add({ by: 'policy', name, outcome: 'allowed' }, allowed)
        for (const [by, name] of [['route', route] as const, ['tier', policy.tier] as const]) {
          labels.add({ by, name, outcome: 'allowed' }, allowed)
          labels.add({ by, name, outcome: 'rejected' }, rejected)
        }
      }
    return {
      at: this.#startedAt,
      allowed: { entries: this.#allowed.entries(), missed: this.#allowed.missed },
      rejected: { entries: this.#rejected.entries(), missed: this.#rejected.missed },
      labels: labels.list(),
      rejections: [...this.#rejections],
    }
  }

  #seriesOf(policy: Policy, route: string): Series {
    let routes = this.#series.get(policy)
    if (routes === undefined) {
      routes = new Map()
      this.#series.set(policy, routes)
    }
    return routes.get(route) ?? this.#addSeries(routes, policy, route)
  }

  #addSeries(routes: Map<string, Series>, policy: Policy, route: string): Series {
    if (this.#seriesCount >= maxSeries && route !== otherRoutes)
      return routes.get(otherRoutes) ?? this.#addSeries(routes, policy, otherRoutes)
    this.#seriesCount++
    const names = partsOf(policy).flatMap(({ name, shared }) => (shared ? [] : [name]))
    const inShadow = [...new Set(policy.rules.flatMap((rule) => (rule.shadow ? [rule.policy] : [])))]
    const series = { policy, route, prefix: keyPrefix(names, route), inShadow, allowed: 0, rejected: 0 }
    routes.set(route, series)
    return series
  }

  #recordRejection(series: Series, decision: Decision, { identifier, requestId }: LimitedRequest): void {
    series.rejected++
    const { now, source, retryAfterSeconds } = decision
    const { name: rule, policy } = strictestRule(decision)
    const { route } = series
    this.#rejected.add(`${keyPrefix([policy], route)}${identifier.kind}\n${identifier.id}`, now)
    this.#labels.add({ by: 'policy', name: policy, outcome: 'rejected', rule })
    if (this.#rejections.length >= 2 * maxRejections) this.#rejections = this.#rejections.slice(maxRejections)
    const request = requestId === undefined ? {} : { requestId }
    this.#rejections.push({ at: now, policy, rule, route, identifier, retryAfterSeconds, source, ...request })
  }

  /** Compares what each policy decided with what its rules in shadow would have. */
  #recordShadow({ policy: { tier }, route, inShadow }: Series, { rules }: Decision): void {
    const rejecting = rules.filter(({ allowed }) => !allowed)
    for (const { shadow, policy: name, name: rule } of rejecting)
      if (shadow) this.#labels.add({ by: 'policy', name, outcome: 'shadow', rule })
    for (const policy of inShadow) {
      const own = rejecting.filter((rule) => rule.policy === policy)
      for (const outcome of outcomesOf(own)) {
        this.#labels.add({ by: 'route', name: route, outcome, policy })
        this.#labels.add({ by: 'tier', name: tier, outcome, policy })
      }
    }
  }
}

/** What a policy did with a request, and what its rules in shadow would have, by those of its rules that rejected. */
function outcomesOf(rejecting: readonly RuleDecision[]): Outcome[] {
  const isShadow = rejecting.some(({ shadow }) => shadow)
  if (rejecting.every(({ shadow }) => shadow)) return isShadow ? ['allowed', 'shadow'] : ['allowed']
  return ['rejected', isShadow ? 'shadow' : 'released']
}

const partsOf = (policy: Policy): readonly Policy[] => policy.parts ?? [policy]

/** The rule that rejects longest, whose wait the caller was told. */
function strictestRule({ rules, policy }: Decision): Pick<RuleDecision, 'name' | 'policy'> {
  let strictest: RuleDecision | undefined
  for (const rule of rules) {
    if (rule.allowed || rule.shadow) continue
    if (strictest === undefined || rule.retryAfterSeconds > strictest.retryAfterSeconds) strictest = rule
  }
  return strictest ?? { name: policy.name, policy: policy.name }
}
