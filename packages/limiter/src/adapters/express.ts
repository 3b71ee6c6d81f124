import type { Identifier } from '../key.ts'
import type { Limiter } from '../limiter.ts'
import type { Policies } from '../policy.ts'
import { decisionHeaders, type HeaderOptions } from './headers.ts'
import { quotaExceededProblem } from './problem.ts'

/** What is asked of a response of Express, Connect or node:http. */
export interface NodeResponse {
  statusCode: number
  setHeader(name: string, value: string): unknown
  end(body: string): unknown
}

export interface ExpressLimitOptions<Req> extends HeaderOptions {
  readonly limiter: Limiter
  /** One policy, or several that count together, all or nothing. */
  readonly policy: Policies | ((request: Req) => Policies | Promise<Policies>)
  /** Who asks; undefined lets the request pass uncounted. */
  readonly identify: (request: Req) => Identifier | undefined | Promise<Identifier | undefined>
  readonly cost?: (request: Req) => number
  /** Route template for the metrics, never the raw path. */
  readonly route?: (request: Req) => string
}

/** Middleware for Express and Connect. Faults go to `next`; a rejected request is answered and goes no further. */
export function limitExpress<Req>(
  options: ExpressLimitOptions<Req>,
): (request: Req, response: NodeResponse, next: (error?: unknown) => void) => Promise<void> {
  return async (request, response, next) => {
    try {
      const identifier = await options.identify(request)
      if (identifier === undefined) return next()
      const policy = typeof options.policy === 'function' ? await options.policy(request) : options.policy
      const cost = options.cost?.(request) ?? 1
      const decision = await options.limiter.check(policy, identifier, { cost, route: options.route?.(request) ?? '' })
      for (const [name, value] of Object.entries(decisionHeaders(decision, options))) response.setHeader(name, value)
      if (decision.allowed) return next()
      response.statusCode = 429
      response.setHeader('Content-Type', 'application/problem+json')
      response.end(JSON.stringify(quotaExceededProblem(decision)))
    } catch (error) {
      next(error)
    }
  }
}
