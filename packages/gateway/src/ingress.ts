import { Problem } from '@gatehouse/kit'
import { decisionHeaders, type IetfFields, type Limiter } from '@gatehouse/limiter'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { cleanInbound } from './http/headers.ts'
import { quotaExceeded } from './http/quota-exceeded.ts'
import type { Addresses } from './identify/addresses.ts'
import { missingCredential, withScope } from './identify/authenticate.ts'
import type { Identify } from './identify/identify.ts'
import type { Policies } from './limits/policies.ts'
import type { GatewayMetrics } from './metrics/gateway-metrics.ts'
import type { Authenticate } from './model/caller.ts'
import type { Visit } from './model/request-identity.ts'
import type { RouteRule } from './model/route-rule.ts'
import type { Routing } from './routing/routing.ts'

export interface AdmissionParts {
  readonly limiter: Limiter
  readonly identify: Identify
  readonly addresses: Addresses
  readonly routing: Routing
  readonly policies: Policies
  readonly metrics: GatewayMetrics
  readonly realm: string
  readonly ietfFields: IetfFields
}

export interface Admission {
  /** Every request's way in. Runs before its body is read. */
  admit(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** Who was admitted; undefined on public routes and for requests without a credential. */
  visitOf(raw: FastifyRequest['raw']): Visit | undefined
  readonly authenticate: Authenticate
}

/** Identify -> tier -> check -> what the route demands. */
export function createAdmission(parts: AdmissionParts): Admission {
  const { limiter, identify, addresses, routing, policies, metrics, realm, ietfFields } = parts
  const visits = new WeakMap<FastifyRequest['raw'], Visit>()

  async function known(raw: FastifyRequest['raw']): Promise<Visit> {
    const visit = visits.get(raw) ?? (await identify.visit(raw))
    visits.set(raw, visit)
    return visit
  }

  return {
    visitOf: (raw) => visits.get(raw),
    async admit(request, reply) {
      const { raw } = request
      cleanInbound(raw)
      addresses.correct(request)
      const rule = routing.ruleOf(request)
      const route = routing.labelOf(request)
      const visit = rule?.public ? identify.anonymous(raw) : await known(raw)
      const policy = await policies.of(visit, rule)
      if (policy !== undefined) {
        const decision = await limiter.check(policy, visit.identifier, { route })
        metrics.decided(route, decision)
        reply.headers(decisionHeaders(decision, { ietf: ietfFields }))
        if (!decision.allowed) throw quotaExceeded(decision)
      }
      if (rule !== undefined && !rule.public) demand(visit, rule, realm)
    },
    async authenticate({ raw }, scope) {
      const { caller, refusal } = await known(raw)
      if (caller === undefined) throw refusal ?? missingCredential(realm)
      return withScope(caller, scope, realm)
    },
  }
}

/** A route that an upstream serves needs a caller; one of ours asks by itself, unless its rule does. */
function demand({ caller, refusal }: Visit, { scope, roles, upstream }: RouteRule, realm: string): void {
  if (upstream === undefined && scope === undefined && roles === undefined) return
  if (caller === undefined) throw refusal ?? missingCredential(realm)
  withScope(caller, scope, realm)
  if (roles && !roles.some((role) => caller.roles.includes(role)))
    throw new Problem(403, `One of these roles is needed here: ${roles.join(', ')}.`)
}
