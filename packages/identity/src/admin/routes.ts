import type { Http } from '@gatehouse/kit'
import { audit } from '../audit.ts'
import type { Authenticate } from '../caller.ts'
import type { Parts } from '../parts.ts'
import { accessRoutes } from './access-routes.ts'
import { auditRoutes } from './audit-routes.ts'
import { clientRoutes } from './client-routes.ts'
import type { Gate } from './gate.ts'
import { apiKeyRoutes, signingKeyRoutes } from './key-routes.ts'
import { userRoutes } from './user-routes.ts'

/** Management under /admin/v1: clients, users, their consents and sessions, API keys, signing keys, the audit trail. */
export function adminRoutes(http: Http, parts: Parts, authenticate: Authenticate): void {
  const gate: Gate = {
    parts,
    check: async (request, scope) => authenticate(request, scope),
    changed: (request, caller, action, about) =>
      audit(parts, request, 'management', { actor: caller.subject, ...about, details: { action } }),
  }
  clientRoutes(http, gate)
  userRoutes(http, gate)
  accessRoutes(http, gate)
  apiKeyRoutes(http, gate)
  signingKeyRoutes(http, gate)
  auditRoutes(http, gate)
}
