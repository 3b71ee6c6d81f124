import { type Clock, Problem, type RecordChange, recordChange, requireRecentSignIn } from '@gatehouse/kit'
import type { Identifier, Policy } from '@gatehouse/limiter'
import type { FastifyRequest } from 'fastify'
import type { Authenticate, Caller } from '../model/caller.ts'
import { isAddressKind, maskIdentifier } from './limit-masking.ts'

/** Required scopes by action. One is enough; refusals name the first. */
export const limitScopes = {
  read: ['read:limits', 'admin:limits'],
  grant: ['write:limit-grants', 'admin:limits'],
  manage: ['admin:limits'],
} as const

/** The scope of owners. */
const ownerScope = 'admin:roles'

/** Scopes to read personal data unmasked. */
const personalDataScopes = ['read:personal-data', 'admin:privacy']

/** Prefix of the roles that manage Gatehouse. */
const reservedRole = 'gatehouse-'

interface LimitChange {
  readonly action: 'limits.reset' | 'limits.grant' | 'limits.unblock'
  /** Undefined for all policies of a caller. */
  readonly policy?: Policy
  readonly identifier: Identifier
  readonly after?: Readonly<Record<string, unknown>>
}

/** Authorization and audit of the operator endpoints. */
export interface Operators {
  /** A hook that requires one of these scopes. @throws Problem 401 or 403 */
  requireScope(scopes: readonly string[]): (request: FastifyRequest) => Promise<void>
  /**
   * As `requireScope`; a person must have signed in within ten minutes, and an API key of a user tells of no sign-in.
   * Clients are not asked.
   * @throws Problem 401 `insufficient_user_authentication` (RFC 9470 §3), 403
   */
  requireRecentSignIn(scopes: readonly string[]): (request: FastifyRequest) => Promise<void>
  /** Refuses a person whose sign-in is old. Only after `requireScope`. @throws Problem 401 */
  refuseOldSignIn(request: FastifyRequest): void
  /**
   * Limits on attempts protect owners from everybody else, operators too: only an owner gives attempts back. Without a
   * policy there is nothing to refuse.
   * @throws Problem 403
   */
  requireOwner(request: FastifyRequest, attemptLimits: readonly string[]): void
  /** Whether the caller has one of these scopes. Only after `requireScope`. */
  hasScope(request: FastifyRequest, scopes: readonly string[]): boolean
  /** Whether personal data must be masked for the caller. */
  mustMask(request: FastifyRequest): boolean
  /**
   * Refuses to answer about a caller that is known by its address, when addresses are masked: those of a network are few
   * enough to try. Without a kind it may be one.
   * @throws Problem 403
   */
  refuseGuesses(request: FastifyRequest, kind: string | undefined): void
  /** Records a change before it is made. @throws Problem 503 when it cannot be recorded; then nothing may change */
  record(request: FastifyRequest, change: LimitChange): Promise<void>
}

/** What {@link Operators} authenticate callers with, and where their changes are recorded. */
export interface OperatorsOptions {
  readonly authenticate: Authenticate
  readonly clock: Clock
  /** Writes the audit trail. */
  readonly recordChange: RecordChange
}

/** The checks of the operator endpoints. */
export function createOperators(options: OperatorsOptions): Operators {
  const callers = new WeakMap<FastifyRequest, Caller>()
  const callerOf = (request: FastifyRequest): Caller => {
    const caller = callers.get(request)
    if (!caller) throw new Error(`${request.method} ${request.routeOptions.url} has no requireScope hook`)
    return caller
  }
  const holds: Operators['hasScope'] = (request, scopes) => scopes.some((scope) => callerOf(request).scopes.has(scope))
  const mustMask: Operators['mustMask'] = (request) => !holds(request, personalDataScopes)
  const requireScope: Operators['requireScope'] = (scopes) => async (request) => {
    callers.set(request, await options.authenticate(request))
    if (!holds(request, scopes)) throw insufficientScope(scopes)
  }
  const refuseOldSignIn: Operators['refuseOldSignIn'] = (request) => {
    const { kind, authTime } = callerOf(request)
    if (kind === 'user') requireRecentSignIn(authTime, options.clock.now())
  }
  return {
    hasScope: holds,
    requireScope,
    refuseOldSignIn,
    requireRecentSignIn: (scopes) => async (request) => {
      await requireScope(scopes)(request)
      refuseOldSignIn(request)
    },
    requireOwner(request, attemptLimits) {
      if (attemptLimits.length > 0 && !holds(request, [ownerScope])) throw ownersOnly(attemptLimits)
    },
    mustMask,
    refuseGuesses(request, kind) {
      if (mustMask(request) && (kind === undefined || isAddressKind(kind))) throw insufficientScope(personalDataScopes)
    },
    async record(request, { action, policy, identifier, after }) {
      const { subject, clientId, roles } = callerOf(request)
      const role = roles.find((each) => each.startsWith(reservedRole))
      const { kind, id } = maskIdentifier(identifier)
      await recordChange(options.recordChange, {
        service: 'gateway',
        action,
        actor: { subject, role, clientId, address: request.ip, requestId: request.id },
        target: { type: 'limit', id: [...(policy ? [policy.name] : []), kind, id].join('/') },
        ...(after ? { after } : {}),
      })
    },
  }
}

/** 403 that names the required scope (RFC 6750 §3.1). */
function insufficientScope(scopes: readonly string[]): Problem {
  const challenge = `Bearer error="insufficient_scope", scope="${scopes[0]}"`
  const detail = `This requires ${scopes.length > 1 ? 'one of the scopes' : 'the scope'} ${scopes.join(', ')}.`
  return new Problem(403, detail, { headers: { 'www-authenticate': challenge } })
}

function ownersOnly(attemptLimits: readonly string[]): Problem {
  const challenge = `Bearer error="insufficient_scope", scope="${ownerScope}"`
  const detail = `Attempts are given back by owners alone (scope ${ownerScope}): ${attemptLimits.join(', ')}.`
  return new Problem(403, detail, { headers: { 'www-authenticate': challenge } })
}
