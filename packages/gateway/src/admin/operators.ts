import { Problem, type RecordChange, recordChange } from '@gatehouse/kit'
import type { Identifier, Policy } from '@gatehouse/limiter'
import type { FastifyRequest } from 'fastify'
import type { Authenticate, Caller } from '../model/caller.ts'
import { maskIdentifier } from './limit-masking.ts'

/** Who may do what to limits: one of these scopes is enough, the first is named to whoever has none. */
export const limitScopes = {
  read: ['read:limits', 'admin:limits'],
  grant: ['write:limit-grants', 'admin:limits'],
  manage: ['admin:limits'],
} as const

/** Personal data as it is; an owner's scope for privacy includes it. */
const personalDataScopes = ['read:personal-data', 'admin:privacy']

/** Roles by which people manage begin like this. */
const reservedRole = 'gatehouse-'

interface LimitChange {
  readonly action: 'limits.reset' | 'limits.grant'
  readonly policy: Policy
  readonly identifier: Identifier
  readonly after?: Readonly<Record<string, unknown>>
}

/** The checks of the endpoints for operators, and what is kept of their changes. */
export interface Operators {
  /** The hook of a route that one of these scopes allows. @throws Problem 401 or 403 */
  requireScope(scopes: readonly string[]): (request: FastifyRequest) => Promise<void>
  hasScope(request: FastifyRequest, scopes: readonly string[]): boolean
  /** Whether identifiers that are personal data are masked for the caller. */
  mustMask(request: FastifyRequest): boolean
  /** Records a change before it is made. @throws Problem 503 when that can't be done: then nothing may be changed */
  record(request: FastifyRequest, change: LimitChange): Promise<void>
}

/** What {@link Operators} authenticate callers with, and where their changes are recorded. */
export interface OperatorsOptions {
  readonly authenticate: Authenticate
  /** Writes the audit trail. */
  readonly recordChange: RecordChange
}

/** The checks of the operator endpoints. */
export function createOperators(options: OperatorsOptions): Operators {
  const callers = new WeakMap<FastifyRequest, Caller>()
  const callerOf = (request: FastifyRequest): Caller => {
    const caller = callers.get(request)
    if (!caller) throw new Error(`${request.method} ${request.routeOptions.url} asked for a caller without a check`)
    return caller
  }
  const holds: Operators['hasScope'] = (request, scopes) => scopes.some((scope) => callerOf(request).scopes.has(scope))
  return {
    hasScope: holds,
    requireScope: (scopes) => async (request) => {
      callers.set(request, await options.authenticate(request))
      if (!holds(request, scopes)) throw insufficientScope(scopes)
    },
    mustMask: (request) => !holds(request, personalDataScopes),
    async record(request, { action, policy, identifier, after }) {
      const { subject, clientId, roles } = callerOf(request)
      const role = roles.find((each) => each.startsWith(reservedRole))
      const { kind, id } = maskIdentifier(identifier)
      await recordChange(options.recordChange, {
        service: 'gateway',
        action,
        actor: { subject, role, clientId, address: request.ip, requestId: request.id },
        target: { type: 'limit', id: `${policy.name}/${kind}/${id}` },
        ...(after ? { after } : {}),
      })
    },
  }
}

/** 403 that names what would be enough (RFC 6750 §3.1). */
function insufficientScope(scopes: readonly string[]): Problem {
  const challenge = `Bearer error="insufficient_scope", scope="${scopes[0]}"`
  const detail = `This needs ${scopes.length > 1 ? 'one of the scopes' : 'the scope'} ${scopes.join(', ')}.`
  return new Problem(403, detail, { headers: { 'www-authenticate': challenge } })
}
