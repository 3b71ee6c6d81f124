import type { Bearer } from '@gatehouse/bearer'
import { Problem } from '@gatehouse/kit'
import { decisionHeaders, type IetfFields, type Limiter } from '@gatehouse/limiter'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Activity } from './activity/activity.ts'
import { toQuotaProblem } from './http/quota-exceeded.ts'
import { removeReservedHeaders } from './http/reserved-headers.ts'
import type { Addresses } from './identify/addresses.ts'
import { missingCredential, requireScope, requireSignIn } from './identify/authenticate.ts'
import type { IdentityResolver } from './identify/identity-resolver.ts'
import type { Policies } from './limits/policies.ts'
import type { GatewayMetrics } from './metrics/gateway-metrics.ts'
import type { Authenticate } from './model/caller.ts'
import type { RequestIdentity } from './model/request-identity.ts'
import { type RouteRule, requiresCaller } from './model/route-rule.ts'
import type { Routing } from './routing/routing.ts'

/** What the ingress checks requests with. */
export interface IngressOptions {
  readonly limiter: Limiter
  readonly bearer: Bearer
  readonly identities: IdentityResolver
  readonly addresses: Addresses
  readonly routing: Routing
  readonly policies: Policies
  readonly metrics: GatewayMetrics
  readonly activity: Activity
  readonly realm: string
  readonly ietfFields: IetfFields
}

/** The middleware that every request passes first. */
export interface Ingress {
  /** Identifies, limits and authorizes a request. Runs before its body is read. */
  admit(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** The identity of an admitted request; undefined on public routes. */
  identityOf(raw: FastifyRequest['raw']): RequestIdentity | undefined
  /** Returns the caller of a request that passed `admit`. */
  readonly authenticate: Authenticate
}

/** Resolve the identity, look up the policy, check the limit, authorize the caller. */
export function createIngress(parts: IngressOptions): Ingress {
  const { limiter, bearer, identities, addresses, routing, policies, metrics, activity, realm, ietfFields } = parts
  const known = new WeakMap<FastifyRequest['raw'], RequestIdentity>()

  async function identify(raw: FastifyRequest['raw']): Promise<RequestIdentity> {
    const identity = known.get(raw) ?? (await identities.resolve(raw))
    known.set(raw, identity)
    return identity
  }

  return {
    identityOf: (raw) => known.get(raw),
    async admit(request, reply) {
      const { raw } = request
      removeReservedHeaders(raw)
      addresses.setClientAddress(request)
      const rule = routing.ruleOf(request)
      const route = routing.labelOf(request)
      const identity = rule?.public ? identities.anonymous(raw) : await identify(raw)
      const policy = await policies.policyFor(identity, rule)
      if (policy !== undefined) {
        const decision = await limiter.check(policy, identity.identifier, { route })
        metrics.recordDecision(route, decision)
        activity.record(decision, { route, identifier: identity.identifier, requestId: request.id })
        reply.headers(decisionHeaders(decision, { ietf: ietfFields }))
        if (!decision.allowed) throw toQuotaProblem(decision)
      }
      if (rule !== undefined && !rule.public) authorizeRoute(identity, rule, bearer, realm)
    },
    async authenticate({ raw }, scope) {
      const { caller, refusal } = await identify(raw)
      if (caller === undefined) throw refusal ?? missingCredential(realm)
      return requireScope(caller, scope, realm)
    },
  }
}

/** Checks what the rule requires. An upstream's route needs a caller; an own route requires one itself, or by its rule. */
function authorizeRoute({ caller, refusal }: RequestIdentity, rule: RouteRule, bearer: Bearer, realm: string): void {
  const { scope, roles, upstream } = rule
  if (upstream === undefined && !requiresCaller(rule)) return
  if (caller === undefined) throw refusal ?? missingCredential(realm)
  requireScope(caller, scope, realm)
  if (roles && !roles.some((role) => caller.roles.includes(role)))
    throw new Problem(403, `One of these roles is required: ${roles.join(', ')}.`)
  requireSignIn(bearer, caller, rule, realm)
}
