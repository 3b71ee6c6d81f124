import type { Decision } from '../decision.ts'
import type { Identifier } from '../key.ts'
import type { CheckOptions, Limiter } from '../limiter.ts'
import type { Policies } from '../policy.ts'
import { decisionHeaders, type HeaderOptions } from './headers.ts'
import { quotaExceededProblem } from './problem.ts'

export interface FetchLimitOptions<Context extends unknown[]> extends HeaderOptions {
  readonly limiter: Limiter
  /** One policy, or several that count together, all or nothing. */
  readonly policy: Policies | ((request: Request, ...context: Context) => Policies | Promise<Policies>)
  /** Who asks; undefined lets the request pass uncounted. Behind a proxy, only a trusted one's word counts. */
  readonly identify: (request: Request, ...context: Context) => Identifier | undefined | Promise<Identifier | undefined>
  readonly cost?: (request: Request) => number
  /** Route template for the metrics. */
  readonly route?: string
}

/** Puts a limit before a web-standard handler (Hono's `app.fetch`, Next route handlers, workers). */
export function limitFetch<Context extends unknown[]>(
  options: FetchLimitOptions<Context>,
  handler: (request: Request, ...context: Context) => Response | Promise<Response>,
): (request: Request, ...context: Context) => Promise<Response> {
  return async (request, ...context) => {
    const identifier = await options.identify(request, ...context)
    if (identifier === undefined) return handler(request, ...context)
    const policy = typeof options.policy === 'function' ? await options.policy(request, ...context) : options.policy
    const check: CheckOptions = { cost: options.cost?.(request) ?? 1, route: options.route ?? '' }
    const decision = await options.limiter.check(policy, identifier, check)
    const response = decision.allowed ? await handler(request, ...context) : rejection(decision)
    return withHeaders(response, decisionHeaders(decision, options))
  }
}

function rejection(decision: Decision): Response {
  return new Response(JSON.stringify(quotaExceededProblem(decision)), {
    status: 429,
    headers: { 'content-type': 'application/problem+json' },
  })
}

/** A response's own headers may be immutable, as those of a fetched one are. */
function withHeaders(response: Response, added: Record<string, string>): Response {
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(added)) headers.set(name, value)
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers })
}
