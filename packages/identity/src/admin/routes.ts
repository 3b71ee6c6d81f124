import type { Http } from '@gatehouse/kit'
import type { Parts } from '../context/context.ts'
import type { Authenticate } from '../model/caller.ts'
import { auditRoutes } from './audit/routes.ts'
import { clientRoutes } from './clients/routes.ts'
import { apiKeyRoutes, signingKeyRoutes } from './keys/routes.ts'
import { gateOf } from './required-scope.ts'
import { roleRoutes } from './roles/routes.ts'
import { accessRoutes } from './users/access-routes.ts'
import { userRoutes } from './users/routes.ts'
import { supportRoutes } from './users/support-routes.ts'

/** Management under /admin/v1: clients, users, consents and sessions, roles, API keys, signing keys, the audit trail. */
export function adminRoutes(http: Http, parts: Parts, authenticate: Authenticate): void {
  const gate = gateOf(parts, authenticate)
  clientRoutes(http, gate)
  userRoutes(http, gate)
  accessRoutes(http, gate)
  supportRoutes(http, gate)
  roleRoutes(http, gate)
  apiKeyRoutes(http, gate)
  signingKeyRoutes(http, gate)
  auditRoutes(http, gate)
}
