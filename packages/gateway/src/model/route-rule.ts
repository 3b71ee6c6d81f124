/** The requirements of one path template. The first rule of a list that matches a request applies. */
export interface RouteRule {
  /** `/orders/{id}` or `/orders/:id`; a trailing `*` matches the rest of the path. */
  readonly path: string
  /** Default: every method. */
  readonly methods?: readonly string[]
  /** Credentials are neither required nor read: requests count by IP address. Default: false. */
  readonly public?: boolean
  /** Required scope: space-separated names, all of which the caller must have. */
  readonly scope?: string
  /** Role names, one of which the caller must have. */
  readonly roles?: readonly string[]
  /** Required class of the user's sign-in (`acr`), or a stronger one (RFC 9470). */
  readonly requireAcr?: string
  /** Maximum age of the user's sign-in in seconds, compared at each request (RFC 9470). */
  readonly maxAgeSeconds?: number
  /** A policy by name that counts beside the caller's tier; `none` for no limit. */
  readonly policy?: string
  /** Whether the caller's tier counts too. Default: true; false on public routes, which have no caller. */
  readonly tier?: boolean
  /** A policy by name in place of the tier, for callers with `write:notifications`. */
  readonly producers?: string
  /** The upstream that serves it, by name. Default: a local service. */
  readonly upstream?: string
}

/** Whether a rule requires a caller by itself. */
export function requiresCaller({ scope, roles, requireAcr, maxAgeSeconds }: RouteRule): boolean {
  return [scope, roles, requireAcr, maxAgeSeconds].some((one) => one !== undefined)
}

/** The policy of routes that are not limited. */
export const unlimited = 'none'

/** The methods of a rule without `methods`. */
export const allMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** A path template as the router writes it: `/orders/{id}` becomes `/orders/:id`. */
export function routerPath(template: string): string {
  return template.replaceAll(/\{([A-Za-z_]\w*)\}/g, ':$1')
}

/** The first rule for a route that a local service registered under `template`. */
export function ruleFor(rules: readonly RouteRule[], method: string, template: string): RouteRule | undefined {
  return rules.find(
    ({ path, methods, upstream }) =>
      upstream === undefined && (methods ?? allMethods).includes(method) && covers(shapeOf(path), shapeOf(template)),
  )
}

/** Names of parameters do not matter. */
const shapeOf = (template: string) => routerPath(template).replaceAll(/:[A-Za-z_]\w*/g, ':')

function covers(rule: string, template: string): boolean {
  return rule.endsWith('*') ? template.startsWith(rule.slice(0, -1)) : rule === template
}
