/** What holds for the requests of one path template. The first rule of a list that fits a request is taken. */
export interface RouteRule {
  /** `/orders/{id}` or `/orders/:id`; a trailing `*` takes whatever follows. */
  readonly path: string
  /** Default: every method. */
  readonly methods?: readonly string[]
  /** No credential is needed or looked at: such a request is counted by its IP address. */
  readonly public?: boolean
  /** Space-separated scope names, all of which are needed. */
  readonly scope?: string
  /** Role names, one of which is needed. */
  readonly roles?: readonly string[]
  /** A policy by name, counted beside the caller's tier; `none` for no limit at all. */
  readonly policy?: string
  /** Whether the caller's tier counts too. Default: true, but false on public routes, where no caller is known. */
  readonly tier?: boolean
  /** A policy by name in place of the tier, for callers that hold `write:notifications`. */
  readonly producers?: string
  /** The upstream that serves it, by name; left out for what a local service serves. */
  readonly upstream?: string
}

/** The policy of routes that are not limited. */
export const unlimited = 'none'

/** Methods that a rule without `methods` covers. */
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

/** Parameters are equal whatever their names. */
const shapeOf = (template: string) => routerPath(template).replaceAll(/:[A-Za-z_]\w*/g, ':')

function covers(rule: string, template: string): boolean {
  return rule.endsWith('*') ? template.startsWith(rule.slice(0, -1)) : rule === template
}
