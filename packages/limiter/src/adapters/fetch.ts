import type { Decision } from '../decision.ts'
import type { Identifier } from '../key.ts'
import type { CheckOptions, Limiter } from '../limiter.ts'
import type { Policies } from '../policy.ts'
import { decisionHeaders, type HeaderOptions } from './headers.ts'
import { quotaExceededProblem } from './problem.ts'

/** Options of {@link limitFetch}. */
export interface FetchLimitOptions<Context extends unknown[]> extends HeaderOptions {
  /** The limiter, from `createLimiter`. */
  readonly limiter: Limiter
  /** One policy, or several that count together, all or nothing. */
  readonly policy: Policies | ((request: Request, ...context: Context) => Policies | Promise<Policies>)
  /** Whom to count; undefined lets the request pass uncounted. Believe forwarded addresses of trusted proxies only. */
  readonly identify: (request: Request, ...context: Context) => Identifier | undefined | Promise<Identifier | undefined>
  /** Units that the request costs. Default 1. */
  readonly cost?: (request: Request) => number
  /** Route template for metrics. */
  readonly route?: string
}

/**
 * Puts a limit before a handler of the Fetch API (Hono's `app.fetch`, route handlers of Next.js, workers). A response that
 * no constructor creates is returned without headers of the limit: `Response.error()`, and a status below 200 or above 599.
 *
 * @example
 * export const GET = limitFetch({ limiter, policy, identify }, handle)
 */
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
    const response = decision.allowed ? await handler(request, ...context) : createRejection(decision)
    return withHeaders(response, decisionHeaders(decision, options))
  }
}

function createRejection(decision: Decision): Response {
  return new Response(JSON.stringify(quotaExceededProblem(decision)), {
    status: 429,
    headers: { 'content-type': 'application/problem+json' },
  })
}

/** Copies the response, since its headers may be immutable, as those of a fetched response are. */
function withHeaders(response: Response, added: Record<string, string>): Response {
  if (response.status < 200 || response.status > 599) return response
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(added)) headers.set(name, value)
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers })
}
