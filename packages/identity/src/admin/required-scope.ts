import { Problem, requireRecentSignIn } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { AdminContext } from '../context/features.ts'
import { type OperationId, operation } from '../http/operations/index.ts'
import type { Authenticate, Caller } from '../model/caller.ts'
import {
  type ChangedRoles,
  isManagementRole,
  isManagementScope,
  scopesIncluding,
  scopesOfRoles,
  withIncludedScopes,
} from '../model/management-roles.ts'
import type { User } from '../model/user.ts'
import type { Authority } from './authority.ts'

/** A path parameter with an identifier. */
export function idParameter(description: string) {
  return Type.String({ minLength: 1, maxLength: 256, description })
}

/** The path parameters of a single resource. */
export const byId = Type.Object({ id: idParameter('The identifier of the resource.') })

/** One scope, or several of which one suffices. */
type Scopes = string | readonly string[]

/** Authenticates the callers of management and checks their scopes. */
export interface AdminAccess {
  readonly context: AdminContext
  /** The caller's authority, when they have one of the scopes or one that includes it. @throws Problem 401, 403 */
  requireScope(request: FastifyRequest, scopes: Scopes): Promise<Authority>
  /**
   * As {@link requireScope}, for what cannot be undone and what lets somebody in: a person must have signed in within ten minutes. An API key tells
   * of no sign-in, so one of a user is refused.
   * @throws Problem 401 `insufficient_user_authentication` (RFC 9470 §3), 403
   */
  requireRecentSignIn(request: FastifyRequest, scopes: Scopes): Promise<Authority>
  /**
   * The hook of every route: refuses who has none of the scopes that its schema names before the body is read, so that
   * nobody else learns what is wrong with it. The handler checks again: the roles may change while the body arrives.
   * @throws Problem 401, 403
   */
  admitEarly(request: FastifyRequest): Promise<void>
  /** The caller, whatever their scopes. @throws Problem 401 */
  authenticate(request: FastifyRequest): Promise<{ readonly caller: Caller; readonly by: Authority }>
}

/** Creates the check of callers from the injected authentication. */
export function createAdminAccess(context: AdminContext, authenticate: Authenticate): AdminAccess {
  const identifyCaller = async (request: FastifyRequest, scopes: readonly string[] = []) => {
    const caller = await authenticate(request, undefined)
    const user = caller.kind === 'user' ? await context.store.users.find(caller.subject) : undefined
    const roles = user === undefined || user.lockedAt !== undefined ? [] : user.roles
    const isManager = roles.some(isManagementRole)
    const changed = isManager ? await context.store.managementRoles.listChanged() : new Map()
    return { caller, by: createAuthority(request, caller, { user, roles, changed }, scopes) }
  }
  const admit = async (request: FastifyRequest, scopes: Scopes) => {
    const accepted = [scopes].flat()
    const { caller, by } = await identifyCaller(request, accepted)
    if (accepted.some((scope) => by.scopes.has(scope))) return { caller, by }
    const [scope = ''] = accepted
    await authenticate(request, scope)
    const challenge = `Bearer error="insufficient_scope", scope="${scope}"`
    const headers = { 'www-authenticate': challenge }
    throw new Problem(403, `Your roles do not allow the scope ${scope}.`, { headers })
  }
  return {
    context,
    authenticate: identifyCaller,
    async admitEarly(request) {
      const scopes = declaredScopes(request)
      await (scopes.length === 0 ? authenticate(request, undefined) : admit(request, scopes))
    },
    requireScope: async (request, scopes) => (await admit(request, scopes)).by,
    async requireRecentSignIn(request, scopes) {
      const { caller, by } = await admit(request, scopes)
      await checkSignInAge(context, caller)
      return by
    },
  }
}

/** @throws Problem 401 (RFC 9470 §3) */
async function checkSignInAge({ store, clock }: AdminContext, { kind, grantId }: Caller): Promise<void> {
  if (kind === 'client') return
  const userGrant = grantId === undefined ? undefined : await store.grants.find(grantId)
  requireRecentSignIn(userGrant?.grant.authTime, clock.now())
}

/** A client has the scopes of its token; a user only those that their roles allow now, however old the token is. */
function createAuthority(
  request: FastifyRequest,
  { kind, subject, clientId, scopes: carried }: Caller,
  { user, roles, changed }: CallingUser,
  needed: readonly string[],
): Authority {
  const allowed = scopesOfRoles(roles, changed)
  const granted = [...withIncludedScopes(carried)].filter(
    (scope) => kind === 'client' || !isManagementScope(scope) || allowed.has(scope),
  )
  const allows = (one: string) => needed.some((scope) => scopesOfRoles([one], changed).has(scope))
  const role = roles.filter(isManagementRole).find(allows)
  const actor = { subject, role, clientId, address: request.ip, requestId: request.id }
  const credentialVersion = user?.credentialVersion
  return { actor, scopes: new Set(granted), roles, credentialVersion, unrestricted: false }
}

/** What was read of the user who calls; nothing of a client. */
interface CallingUser {
  readonly user: User | undefined
  readonly roles: readonly string[]
  readonly changed: ChangedRoles
}

/** The scopes in the schema of the route, of which one suffices; none where every caller may. */
export function declaredScopes({ method, routeOptions: { url, schema } }: FastifyRequest): readonly string[] {
  const { security } = (schema ?? {}) as { readonly security?: readonly { readonly bearer: readonly string[] }[] }
  if (security === undefined) throw new Error(`The schema of ${method} ${url} does not say who may call it`)
  return security.flatMap(({ bearer }) => bearer)
}

/** The response of a route without content. */
export const done = Type.Null({ description: 'No content.' })

/** The schema of a management route for the API document: its response, or none, and the status. */
export function describeRoute(
  id: OperationId,
  scopes: Scopes,
  answer: object = done,
  status: 200 | 201 | 204 = answer === done ? 204 : 200,
): object {
  const alternatives = [...new Set([scopes].flat().flatMap(scopesIncluding))]
  const security = alternatives.map((scope) => ({ bearer: [scope] }))
  return { tags: ['management'], ...operation(id), security, response: { [status]: answer } }
}
