import type { ServerContext } from '../context/context.ts'
import type { OrganizationUse } from '../model/client.ts'
import type { Permissions } from '../model/organization.ts'
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

/** What depends on roles where there is no organization: every permission of a template, and none is granted. */
export async function permissionsOutside({ store }: Pick<ServerContext, 'store'>): Promise<Permissions> {
  return { assignable: await store.organizationRoles.listTemplatePermissions(), permissions: [] }
}
