import type { FastifyRequest } from 'fastify'
import type { MailContext } from '../context/context.ts'
import type { Client } from '../model/client.ts'
import { isManagementScope } from '../model/management-roles.ts'
import type { User } from '../model/user.ts'
import type { OutboxMessage } from '../store/index.ts'
import { createNotices } from './notices.ts'

/** The scopes of OpenID Connect, and reading: everything else lets an application change something or administer. */
const harmless = /^(?:openid|profile|email|address|phone|offline_access|read:.*)$/

/** Whether a scope allows more than to know the user and to read. */
function isSensitiveScope(scope: string): boolean {
  return isManagementScope(scope) || !harmless.test(scope)
}

/** The access that a user allows an application. */
export interface AllowedAccess {
  readonly user: User
  readonly client: Client
  readonly scopes: readonly string[]
}

/** Creates the notice of an application that gets a sensitive scope for the first time; none for what it has. */
export async function createAccessNotices(
  context: MailContext,
  request: Pick<FastifyRequest, 'ip' | 'headers'>,
  { user, client, scopes }: AllowedAccess,
): Promise<readonly OutboxMessage[]> {
  const sensitive = scopes.filter(isSensitiveScope)
  if (sensitive.length === 0 || !context.mail) return []
  const consents = await context.store.consents.find(user.id, client.id)
  const known = new Set(consents.flatMap((consent) => consent.scopes))
  if (sensitive.every((scope) => known.has(scope))) return []
  return createNotices(context, { user, kind: 'app_connected', request, facts: { app: client.name } })
}
