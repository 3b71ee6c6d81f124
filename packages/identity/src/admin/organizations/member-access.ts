import { Problem, requireRecentSignIn } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { AdminContext } from '../../context/features.ts'
import { type OperationId, operation } from '../../http/operations/index.ts'
import type { Authenticate, Caller } from '../../model/caller.ts'
import { type OrganizationPermission, organizationPermissions } from '../../model/organization.ts'
import { declaredScopes, done } from '../required-scope.ts'
import type { Administration } from './administration-routes.ts'
import type { OrganizationCaller } from './caller.ts'

interface MemberAdministration extends Administration {
  /** The hook of every route: refuses others before the body is read. @throws Problem 401, 403 */
  admitEarly(request: FastifyRequest): Promise<void>
}

/**
 * The administration of an organization by its members: the token is for that organization and has the permission, and
 * the member's roles allow it now, however old the token is.
 */
export function memberAdministration(context: AdminContext, authenticate: Authenticate): MemberAdministration {
  const identify = async (request: FastifyRequest, organizationId: string, permission: string) => {
    const caller = await authenticate(request, permission)
    return findMember(context, request, { caller, organizationId, permission })
  }
  return {
    path: '/organizations/:organization_id',
    async admitEarly(request) {
      const { organization_id } = request.params as { readonly organization_id: string }
      for (const permission of declaredScopes(request)) await identify(request, organization_id, permission)
    },
    async authorize(request, organizationId, permission) {
      const { authTime, ...caller } = await identify(request, organizationId, permission)
      if (permission !== organizationPermissions.read) requireRecentSignIn(authTime, context.clock.now())
      return caller
    },
    describe: (id, permission, answer, status) => describeOwn(`ownOrganization.${id}`, permission, answer, status),
  }
}

/** The schema of a route for members of an organization. */
export function describeOwn(
  id: OperationId,
  permission: OrganizationPermission,
  answer: object = done,
  status: 200 | 201 | 204 = answer === done ? 204 : 200,
): object {
  const security = [{ bearer: [permission] }]
  return { tags: ['organizations'], ...operation(id), security, response: { [status]: answer } }
}

interface Presented {
  readonly caller: Caller
  readonly organizationId: string
  readonly permission: string
}

interface SignedInMember extends OrganizationCaller {
  /** When the member signed in, Unix milliseconds. */
  readonly authTime: number
}

/** @throws Problem 403 for a token of another organization, or of none; the same for one that does not exist */
async function findMember(
  { store }: AdminContext,
  request: FastifyRequest,
  { caller: { subject, clientId, grantId }, organizationId, permission }: Presented,
): Promise<SignedInMember> {
  const grant = grantId === undefined ? undefined : (await store.grants.find(grantId))?.grant
  if (grant?.organizationId !== organizationId || grant.userId !== subject || grant.revokedAt !== undefined)
    throw new Problem(403, 'This token is not for this organization.')
  const member = await store.memberships.find(organizationId, subject)
  if (member === undefined || !member.permissions.includes(permission)) {
    const headers = { 'www-authenticate': `Bearer error="insufficient_scope", scope="${permission}"` }
    throw new Problem(403, `Your roles do not allow the permission ${permission}.`, { headers })
  }
  const actor = { subject, clientId, address: request.ip, requestId: request.id }
  const scopes = new Set(member.permissions)
  const by = { actor, scopes, roles: [], unrestricted: false }
  return { by, organizationId, member, authTime: grant.authTime }
}
