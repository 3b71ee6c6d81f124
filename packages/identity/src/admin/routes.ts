import type { Http } from '@gatehouse/kit'
import type { Authenticate } from '../caller.ts'
import type { Parts } from '../parts.ts'
import { accessRoutes } from './access-routes.ts'
import { auditRoutes } from './audit-routes.ts'
import { clientRoutes } from './client-routes.ts'
import { gateOf } from './gate.ts'
import { apiKeyRoutes, signingKeyRoutes } from './key-routes.ts'
import { roleRoutes } from './role-routes.ts'
import { supportRoutes } from './support-routes.ts'
import { userRoutes } from './user-routes.ts'

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
