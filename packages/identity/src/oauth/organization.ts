import type { ServerContext } from '../context/context.ts'
import type { Client, OrganizationUse } from '../model/client.ts'
import type { Membership, Permissions } from '../model/organization.ts'
import type { User } from '../model/user.ts'
import { OAuthError } from './error.ts'

/** The characters of an organization's id. */
const organizationIdPattern = /^(?!\.{1,2}$)[A-Za-z0-9._~:@-]{1,128}$/

/**
 * The parameter organization of an authorization request.
 * @throws OAuthError `invalid_request` where the client may not send it, or for a value that is no id
 */
export function parseOrganization(use: OrganizationUse | undefined, value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  if (use === 'none') throw new OAuthError('invalid_request', 'this client is not registered for organizations')
  if (organizationIdPattern.test(value)) return value
  throw new OAuthError('invalid_request', 'organization must be the id of an organization')
}

type StoreContext = Pick<ServerContext, 'store'>

/** What depends on roles where there is no organization: every permission of a template, and none is granted. */
async function permissionsOutside({ store }: StoreContext): Promise<Permissions> {
  return { assignable: await store.organizationRoles.listTemplatePermissions(), permissions: [] }
}

/** More organizations than a person chooses from on one page; clients name others in the request. */
const maxOrganizations = 100

/**
 * The organization that a request is for: one, or none; `open` when the user has to choose, `denied` when they are not a
 * member of the one that the request names, or of any that it requires.
 */
export type OrganizationChoice =
  | { readonly kind: 'member'; readonly membership: Membership }
  | { readonly kind: 'none'; readonly permissions: Permissions }
  | { readonly kind: 'open'; readonly memberships: readonly Membership[] }
  | { readonly kind: 'denied' }

/** What a request of a client says about its organization. */
export interface OrganizationRequest {
  readonly client: Pick<Client, 'organizations'>
  /** The id that the client named. */
  readonly organization?: string | undefined
}

/** Finds the organization for a signed-in user. A member of a single one need not choose. */
export async function findOrganization(
  context: StoreContext,
  { client, organization }: OrganizationRequest,
  user: User,
): Promise<OrganizationChoice> {
  if (client.organizations === 'none') return { kind: 'none', permissions: await permissionsOutside(context) }
  if (organization !== undefined) return memberOrDenied(await context.store.memberships.find(organization, user.id))
  const memberships = await context.store.memberships.listByUser(user.id, maxOrganizations)
  if (memberships.length > 1) return { kind: 'open', memberships }
  if (memberships.length === 1 || client.organizations === 'required') return memberOrDenied(memberships[0])
  return { kind: 'none', permissions: await permissionsOutside(context) }
}

function memberOrDenied(membership: Membership | undefined): OrganizationChoice {
  return membership === undefined ? { kind: 'denied' } : { kind: 'member', membership }
}

/** The permissions that the choice allows; undefined while there is none. */
export function permissionsOf(choice: OrganizationChoice | undefined): Permissions | undefined {
  if (choice?.kind === 'member') return choice.membership
  return choice?.kind === 'none' ? choice.permissions : undefined
}

/** The error of a request whose user is not a member; the same for an organization that does not exist. */
export function notMember(): OAuthError {
  return new OAuthError('access_denied', 'the user is not a member of the organization')
}
