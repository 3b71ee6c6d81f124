import { type RouteRule, requiresCaller } from '../model/route-rule.ts'

const merged = new WeakMap<RouteRule, Map<RouteRule, RouteRule>>()

/** The declared rule of one of our own routes, with the `producers` policy of that route. Merged once per pair. */
export function withProducers(declared: RouteRule | undefined, own: RouteRule | undefined): RouteRule | undefined {
  if (declared === undefined || own?.producers === undefined) return declared ?? own
  const known = merged.get(declared) ?? new Map<RouteRule, RouteRule>()
  merged.set(declared, known)
  const rule = known.get(own) ?? { ...declared, producers: own.producers }
  known.set(own, rule)
  return rule
}

/** The declared rule of a path that a sibling serves. The sibling itself requires credentials, as it would in-process. */
export function overlayRule(sibling: RouteRule, declared: RouteRule | undefined): RouteRule {
  if (declared === undefined) return sibling
  const isPublic = declared.public ?? (sibling.public === true && !requiresCaller(declared))
  return {
    ...declared,
    ...(sibling.producers === undefined ? {} : { producers: sibling.producers }),
    public: isPublic,
    ...(sibling.upstream === undefined ? {} : { upstream: sibling.upstream }),
  }
}
