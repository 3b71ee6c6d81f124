import { type Clock, Problem, requireRecentSignIn } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { type Access, accessBy, type NotifyScopes } from './scopes.ts'

/** Who made a request, once verified. */
export interface Caller {
  readonly subject: string
  readonly clientId?: string
  readonly scopes: ReadonlySet<string>
  readonly roles: readonly string[]
  /** What the subject is; an API key has its owner's reach. */
  readonly kind: 'user' | 'client'
  /** When the credential ends, Unix milliseconds; an API key may last for ever. */
  readonly expiresAt?: number
  /** When the user signed in, Unix milliseconds; left out for an API key. */
  readonly authTime?: number
}

/** The bearer check, handed in: throws the finished answer (401, or 403 when `scope` is missing). */
export type Authenticate = (request: FastifyRequest, scope: string | undefined) => Promise<Caller> | Caller

/** Calls `end` once the credential of a request is no longer what it was. Answers how to stop watching. */
export type WatchCredential = (
  request: FastifyRequest,
  caller: Pick<Caller, 'expiresAt' | 'scopes'>,
  end: () => void,
) => () => void

type Hook = (request: FastifyRequest) => Promise<void>

/** The checks that routes ask for. Each hook throws a finished answer when it fails. */
export interface AccessControl {
  /** The hook of a route that is for this access. */
  allow(access: Access): Hook
  /**
   * The same for what cannot be undone, reaches many people, switches delivery off or hands data out: a person must have
   * signed in within ten minutes, and an API key of a user tells of no sign-in (RFC 9470). Clients are not asked, nor is
   * who sends as a producer, to many or later.
   */
  allowRecent(access: Access): Hook
  /** The same under /v1/users/{id}: a user whom no management scope allows it reaches their own things alone. */
  allowUnder(access: Access): Hook
  /** Who may call a route for this access, as the API document lists the alternatives. */
  security(access: Access): ReadonlyArray<Readonly<Record<string, string[]>>>
  /** Who makes a request that one of the hooks let through. */
  callerOf(request: FastifyRequest): Caller
  /** Whether the caller may have this access to what belongs to a user at all. Default: reading what became of it. */
  canSee(request: FastifyRequest, userId: string, access?: Access): boolean
  /** Refuses a person whose sign-in is old, unless it is their own that they change. @throws Problem 401 */
  refuseOldSignIn(request: FastifyRequest, userId?: string): void
  /** Refuses a caller without a scope of this access, where what they ask for needs more than the route does. @throws Problem 403 */
  refuseWithout(request: FastifyRequest, access: Access): void
  /** Whether personal data is masked for the caller: not that of the user themself. */
  masks(request: FastifyRequest, userId?: string): boolean
  /** Refuses to tell by personal data what is masked: answers would confirm every guess. @throws Problem 403 */
  refuseGuesses(request: FastifyRequest, userId?: string): void
  /** Whether the caller acts as the management, and so not on things of their own. */
  manages(request: FastifyRequest, userId?: string): boolean
  /**
   * Whether the caller sends as the management, whose changes are audited: without the scope of a producer, or a person
   * who manages, by a scope of the token or by a role. Otherwise they could request a producer's scope alone and leave no
   * trace. An API key has no roles: it sends as a producer by that scope, and the trail has who created it.
   */
  sendsAsManagement(request: FastifyRequest): boolean
  /** Whether the caller feeds what another system knows of its users. */
  feeds(request: FastifyRequest): boolean
}

/** Builds the access checks over the bearer check and the table of scopes. */
export function createAccessControl(authenticate: Authenticate, scopes: NotifyScopes, clock: Clock): AccessControl {
  const callers = new WeakMap<FastifyRequest, Caller>()
  const allowed: Readonly<Record<Access, readonly string[]>> = accessBy(scopes)
  const forClients: ReadonlySet<string> = new Set([scopes.feed, scopes.events, scopes.reserved])
  const callerOf = (request: FastifyRequest): Caller => {
    const caller = callers.get(request)
    if (!caller)
      throw new Error(`${request.method} ${request.routeOptions.url} reads its caller without an access check`)
    return caller
  }
  const check = async (request: FastifyRequest, access: Access) => {
    const caller = await authenticate(request, undefined)
    const enough = allowed[access].filter((scope) => !forClients.has(scope) || caller.kind === 'client')
    if (!holdsOne(caller, enough)) throw insufficient(allowed[access])
    callers.set(request, caller)
    return caller
  }
  const isManagement = (caller: Caller, access: Access) =>
    caller.kind !== 'user' ||
    holdsOne(
      caller,
      [scopes.admin, scopes.delivery].filter((s) => allowed[access].includes(s)),
    )
  const masks: AccessControl['masks'] = (request, userId) => {
    const caller = callerOf(request)
    return !isUser(caller, userId) && !holdsOne(caller, [scopes.personalData, scopes.privacy])
  }
  const refuseOldSignIn: AccessControl['refuseOldSignIn'] = (request, userId) => {
    const caller = callerOf(request)
    if (caller.kind !== 'user' || isUser(caller, userId)) return
    requireRecentSignIn(caller.authTime, clock.now())
  }
  const sendsAsManagement: AccessControl['sendsAsManagement'] = (request) => {
    const caller = callerOf(request)
    const { kind, scopes: granted } = caller
    if (!granted.has(scopes.write)) return true
    return kind === 'user' && (granted.has(scopes.admin) || managementRoleOf(caller) !== undefined)
  }
  return {
    allow: (access) => async (request) => {
      await check(request, access)
    },
    allowRecent: (access) => async (request) => {
      await check(request, access)
      if (access !== 'produce' || sendsAsManagement(request)) refuseOldSignIn(request)
    },
    allowUnder: (access) => async (request) => {
      const caller = await check(request, access)
      const { id } = request.params as { id: string }
      if (!isManagement(caller, access) && caller.subject !== id) throw otherUserProblem()
    },
    security: (access) => allowed[access].map((scope) => ({ bearer: [scope] })),
    callerOf,
    canSee(request, userId, access = 'readOutcome') {
      const caller = callerOf(request)
      return isManagement(caller, access) || caller.subject === userId
    },
    refuseOldSignIn,
    refuseWithout(request, access) {
      if (!holdsOne(callerOf(request), allowed[access])) throw insufficient(allowed[access])
    },
    masks,
    refuseGuesses(request, userId) {
      if (masks(request, userId)) throw insufficient([scopes.personalData, scopes.privacy])
    },
    manages(request, userId) {
      const caller = callerOf(request)
      return !isUser(caller, userId) && caller.scopes.has(scopes.admin)
    },
    sendsAsManagement,
    feeds(request) {
      const { scopes: granted } = callerOf(request)
      return granted.has(scopes.feed) && !granted.has(scopes.admin)
    },
  }
}

/** Roles of Gatehouse's own, by which people manage; a product's own say nothing here. */
const reservedRoles = 'gatehouse-'

/** The role by which a person manages; undefined for everybody else. */
export function managementRoleOf({ roles }: Pick<Caller, 'roles'>): string | undefined {
  return roles.find((role) => role.startsWith(reservedRoles))
}

function holdsOne(caller: Caller, scopes: readonly string[]): boolean {
  return scopes.some((scope) => caller.scopes.has(scope))
}

function isUser({ kind, subject }: Caller, userId: string | undefined): boolean {
  return kind === 'user' && subject === userId
}

/** 403 that names what would be enough (RFC 6750 §3.1). */
function insufficient(enough: readonly string[]): Problem {
  const challenge = `Bearer error="insufficient_scope", scope="${enough[0]}"`
  const detail = `This needs ${enough.length > 1 ? 'one of the scopes' : 'the scope'} ${enough.join(', ')}.`
  return new Problem(403, detail, { headers: { 'www-authenticate': challenge } })
}

/** 403 for a user who asks for another's. */
export function otherUserProblem(): Problem {
  return new Problem(403, 'That belongs to another user.')
}
