import type { Identifier } from '../key.ts'
import type { Limiter } from '../limiter.ts'
import type { Policies } from '../policy.ts'
import { decisionHeaders, type HeaderOptions } from './headers.ts'
import { quotaExceededProblem } from './problem.ts'

/** The members of a response of Express, Connect or node:http that the middleware uses. */
export interface NodeResponse {
  /** HTTP status. */
  statusCode: number
  /** Whether it was answered already. */
  readonly writableEnded?: boolean
  /** Sets a header. */
  setHeader(name: string, value: string): unknown
  /** Ends the response. */
  end(body: string): unknown
}

/** Options of {@link limitExpress}. */
export interface ExpressLimitOptions<Req> extends HeaderOptions {
  /** The limiter, from `createLimiter`. */
  readonly limiter: Limiter
  /** One policy, or several that count together, all or nothing. */
  readonly policy: Policies | ((request: Req) => Policies | Promise<Policies>)
  /** Whom to count; undefined lets the request pass uncounted. */
  readonly identify: (request: Req) => Identifier | undefined | Promise<Identifier | undefined>
  /** Units that the request costs. Default 1. */
  readonly cost?: (request: Req) => number
  /** Route template for metrics, never the raw path. */
  readonly route?: (request: Req) => string
}

/**
 * Creates middleware for Express and Connect. A rejected request gets a 429 response and goes no further; nor does one that
 * was answered before its decision, as by a timeout. Errors are passed to `next`.
 *
 * @example
 * app.use(limitExpress({ limiter, policy, identify: (request) => ({ kind: 'ip', id: request.ip }) }))
 */
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
      if (response.writableEnded) return
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
