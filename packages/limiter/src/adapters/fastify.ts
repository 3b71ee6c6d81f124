import type { Identifier } from '../key.ts'
import type { Limiter } from '../limiter.ts'
import type { Policies } from '../policy.ts'
import { decisionHeaders, type HeaderOptions } from './headers.ts'
import { quotaExceededProblem } from './problem.ts'

/** What is asked of a Fastify request. */
export interface FastifyRequestLike {
  readonly routeOptions: { readonly url?: string | undefined }
}

/** What is asked of a Fastify reply. */
export interface FastifyReplyLike {
  headers(values: Record<string, string>): unknown
  code(status: number): unknown
  type(mediaType: string): unknown
  send(body: unknown): unknown
}

export interface FastifyLimitOptions<Req extends FastifyRequestLike> extends HeaderOptions {
  readonly limiter: Limiter
  /** One policy, or several that count together, all or nothing. */
  readonly policy: Policies | ((request: Req) => Policies | Promise<Policies>)
  /** Who asks; undefined lets the request pass uncounted. */
  readonly identify: (request: Req) => Identifier | undefined | Promise<Identifier | undefined>
  readonly cost?: (request: Req) => number
}

/**
 * An `onRequest` or `preHandler` hook for Fastify, for the whole app or for one route; routes are known to the metrics by
 * their template.
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
