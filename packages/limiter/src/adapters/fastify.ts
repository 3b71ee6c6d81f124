import type { Identifier } from '../key.ts'
import type { Limiter } from '../limiter.ts'
import type { Policies } from '../policy.ts'
import { decisionHeaders, type HeaderOptions } from './headers.ts'
import { quotaExceededProblem } from './problem.ts'

/** The members of a Fastify request that the hook uses. */
export interface FastifyRequestLike {
  /** The route, with its template. */
  readonly routeOptions: { readonly url?: string | undefined }
}

/** The members of a Fastify reply that the hook uses. */
export interface FastifyReplyLike {
  /** Sets headers. */
  headers(values: Record<string, string>): unknown
  /** Sets the HTTP status. */
  code(status: number): unknown
  /** Sets the media type. */
  type(mediaType: string): unknown
  /** Sends the response. */
  send(body: unknown): unknown
}

/** Options of {@link limitFastify}. */
export interface FastifyLimitOptions<Req extends FastifyRequestLike> extends HeaderOptions {
  /** The limiter, from `createLimiter`. */
  readonly limiter: Limiter
  /** One policy, or several that count together, all or nothing. */
  readonly policy: Policies | ((request: Req) => Policies | Promise<Policies>)
  /** Whom to count; undefined lets the request pass uncounted. */
  readonly identify: (request: Req) => Identifier | undefined | Promise<Identifier | undefined>
  /** Units that the request costs. Default 1. */
  readonly cost?: (request: Req) => number
}

/**
 * Creates an `onRequest` or `preHandler` hook for Fastify, for the whole app or for one route. Metrics are labelled with the
 * template of the route.
 *
 * @example
 * app.addHook('onRequest', limitFastify({ limiter, policy, identify: ({ ip }) => ({ kind: 'ip', id: ip }) }))
 */
export function limitFastify<Req extends FastifyRequestLike>(
  options: FastifyLimitOptions<Req>,
): (request: Req, reply: FastifyReplyLike) => Promise<unknown> {
  return async (request, reply) => {
    const identifier = await options.identify(request)
    if (identifier === undefined) return
    const policy = typeof options.policy === 'function' ? await options.policy(request) : options.policy
    const cost = options.cost?.(request) ?? 1
    const route = request.routeOptions.url ?? ''
    const decision = await options.limiter.check(policy, identifier, { cost, route })
    reply.headers(decisionHeaders(decision, options))
    if (decision.allowed) return
    reply.code(429)
    reply.type('application/problem+json')
    reply.send(quotaExceededProblem(decision))
    return reply
  }
}
