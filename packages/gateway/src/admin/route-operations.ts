import { type RouteRule, unlimited } from '../model/route-rule.ts'
import type { UpstreamState } from '../model/upstream-state.ts'
import type { Routing } from '../routing/routing.ts'

/** What {@link RouteOperations} read. */
export interface RouteOperationsOptions {
  readonly routing: Routing
  /** The rules of our own services' routes. */
  readonly own: readonly RouteRule[]
  /** How the upstreams are doing. */
  upstreamStates(): UpstreamState[]
}

/** What operators read about routes. They are changed in the file only. */
export class RouteOperations {
  readonly #options: RouteOperationsOptions

  constructor(options: RouteOperationsOptions) {
    this.#options = options
  }

  /** Rules in the order in which they are compared. */
  list() {
    const { routing, own } = this.#options
    return {
      items: [
        ...own.map((rule) => ({ origin: 'own' as const, ...formatRule(rule) })),
        ...routing.declared.map((rule, index) => ({
          origin: 'file' as const,
          position: index + 1,
          ...formatRule(rule),
        })),
      ],
    }
  }

  /** The rule of a request. @throws Problem 400 for a path that is not percent-encoded UTF-8 */
  match(query: { readonly method: string; readonly path: string }) {
    const { outcome, route, rule, position, allow, compared } = this.#options.routing.match(query.method, query.path)
    const fitting = compared.filter(({ reason }) => reason !== 'path_differs')
    return {
      outcome,
      route,
      ...(rule === undefined ? {} : { rule: formatRule(rule) }),
      ...(position === undefined ? {} : { position }),
      allow: [...allow],
      compared: fitting.map(({ position: at, reason, rule: { path: template, methods } }) => ({
        position: at,
        path: template,
        ...(methods === undefined ? {} : { methods: [...methods] }),
        reason,
      })),
      other_paths: compared.length - fitting.length,
    }
  }

  /** The upstreams, as this process sees them. */
  upstreams() {
    return { items: this.#options.upstreamStates().map(formatUpstream), scope: 'process' as const }
  }
}

function formatRule(rule: RouteRule) {
  const { path, methods, scope, roles, requireAcr, maxAgeSeconds, policy, tier, producers, upstream } = rule
  const isPublic = rule.public ?? false
  return {
    path,
    ...(methods === undefined ? {} : { methods: [...methods] }),
    public: isPublic,
    ...(scope === undefined ? {} : { scope }),
    ...(roles === undefined ? {} : { roles: [...roles] }),
    ...(requireAcr === undefined ? {} : { require_acr: requireAcr }),
    ...(maxAgeSeconds === undefined ? {} : { max_age_seconds: maxAgeSeconds }),
    ...(policy === undefined ? {} : { policy }),
    ...(producers === undefined ? {} : { producers }),
    tier: policy !== unlimited && (policy === undefined || (tier ?? !isPublic)),
    ...(upstream === undefined ? {} : { upstream }),
  }
}

function formatUpstream({ name, url, breaker, since, waitMs, figures, connections }: UpstreamState) {
  const { calls, failures, p50Ms, p95Ms, lastFailure } = figures
  return {
    name,
    url,
    breaker,
    ...(since === undefined ? {} : { unavailable_since: new Date(since).toISOString() }),
    ...(breaker === 'closed' ? {} : { retry_in_seconds: Math.ceil(waitMs / 1_000) }),
    calls,
    failures,
    ...(p50Ms === undefined ? {} : { p50_ms: p50Ms }),
    ...(p95Ms === undefined ? {} : { p95_ms: p95Ms }),
    ...(lastFailure === undefined
      ? {}
      : { last_failure: { at: new Date(lastFailure.at).toISOString(), message: lastFailure.message } }),
    connections,
  }
}
