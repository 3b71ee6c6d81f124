import type { Http } from '@gatehouse/kit'
import type { AdminContext } from '../context/features.ts'
import type { Authenticate } from '../model/caller.ts'
import { auditRoutes } from './audit/routes.ts'
import { clientRoutes } from './clients/routes.ts'
import { connectionRoutes } from './connections/routes.ts'
import { apiKeyRoutes } from './keys/routes.ts'
import { signingKeyRoutes } from './keys/signing-key-routes.ts'
import { limitRoutes } from './limits/routes.ts'
import { organizationRoutes, ownOrganizationRoutes } from './organizations/routes.ts'
import { type AdminAccess, createAdminAccess } from './required-scope.ts'
import { roleRoutes } from './roles/routes.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { statRoutes } from './stats/routes.ts'
import { accessRoutes } from './users/access-routes.ts'
import { importRoutes } from './users/import/routes.ts'
import { linkedProviderRoutes } from './users/linked-provider-routes.ts'
import { passkeyRoutes } from './users/passkey-routes.ts'
import { userRoutes } from './users/routes.ts'
import { userSearchRoutes } from './users/search-routes.ts'
import { supportRoutes } from './users/support-routes.ts'

/**
 * Management under /admin/v1: clients, connections, users, consents, sessions, roles, organizations, API keys, signing
 * keys and the audit trail; and organizations under /organizations for their members.
 */
export async function adminRoutes(http: Http, context: AdminContext, authenticate: Authenticate): Promise<void> {
  const access = createAdminAccess(context, authenticate)
  await http.register(async (scope) => {
    scope.addHook('onRequest', access.admitEarly)
    managementRoutes(scope as Http, access)
  })
  await http.register(async (scope) => ownOrganizationRoutes(scope as Http, context, authenticate))
}

function managementRoutes(http: Http, access: AdminAccess): void {
  clientRoutes(http, access)
  connectionRoutes(http, access)
  userRoutes(http, access)
  userSearchRoutes(http, access)
  sessionRoutes(http, access)
  importRoutes(http, access)
  accessRoutes(http, access)
  passkeyRoutes(http, access)
  linkedProviderRoutes(http, access)
  supportRoutes(http, access)
  roleRoutes(http, access)
  organizationRoutes(http, access)
  apiKeyRoutes(http, access)
  signingKeyRoutes(http, access)
  const { limitRules } = access.context
  if (limitRules !== undefined) limitRoutes(http, access, limitRules)
  auditRoutes(http, access)
  statRoutes(http, access)
}
