import type { Decision, Identifier, Policy, RuleDecision } from '@gatehouse/limiter'
import { keyPrefix } from './caller-key.ts'
import { LabelCounts } from './label-counts.ts'
import type { Period, Rejection } from './period.ts'
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
  readonly hasShadow: boolean
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
    if (series.hasShadow) this.#recordShadow(decision)
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
        for (const { name } of partsOf(policy)) labels.add('policy', name, 'allowed', allowed)
        labels.add('route', route, 'allowed', allowed)
        labels.add('route', route, 'rejected', rejected)
        labels.add('tier', policy.tier, 'allowed', allowed)
        labels.add('tier', policy.tier, 'rejected', rejected)
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
    const hasShadow = policy.rules.some((rule) => rule.shadow)
    const series = { policy, route, prefix: keyPrefix(names, route), hasShadow, allowed: 0, rejected: 0 }
    routes.set(route, series)
    return series
  }

  #recordRejection(series: Series, decision: Decision, { identifier, requestId }: LimitedRequest): void {
    series.rejected++
    const { now, source, retryAfterSeconds } = decision
    const { name: rule, policy } = strictestRule(decision)
    const { route } = series
    this.#rejected.add(`${keyPrefix([policy], route)}${identifier.kind}\n${identifier.id}`, now)
    this.#labels.add('policy', policy, 'rejected', 1, rule)
    if (this.#rejections.length >= 2 * maxRejections) this.#rejections = this.#rejections.slice(maxRejections)
    const request = requestId === undefined ? {} : { requestId }
    this.#rejections.push({ at: now, policy, rule, route, identifier, retryAfterSeconds, source, ...request })
  }

  #recordShadow({ rules }: Decision): void {
    for (const { shadow, allowed, policy, name } of rules)
      if (shadow && !allowed) this.#labels.add('policy', policy, 'shadow', 1, name)
  }
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
