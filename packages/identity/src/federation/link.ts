import { audit } from '../audit/record.ts'
import { isOfOrganization } from '../connections/home.ts'
import type { ProviderProfile } from '../connections/profile.ts'
import type { FederationContext } from '../context/features.ts'
import { createNotices } from '../mail/notices.ts'
import { type Connection, connectionName } from '../model/connection.ts'
import type { BrowserExchange } from '../sessions/sign-in-page.ts'
import type { Linking } from './flow.ts'
import { mayUseAccount } from './organization.ts'

/**
 * Links the provider's account to the user who began, in the same session: what the provider proved is used here and
 * kept nowhere. False, without a response, when the session or the account is another by now, or the provider's account another user's.
 */
export async function linkToAccount(
  context: FederationContext,
  { request, reply, browser }: BrowserExchange,
  {
    connection,
    profile: { issuer, subject, email },
    linking,
  }: { readonly connection: Connection; readonly profile: ProviderProfile; readonly linking: Linking },
): Promise<boolean> {
  const { signedIn } = browser
  if (signedIn?.session.id !== linking.sessionId || signedIn.user.id !== linking.userId) return false
  const { user } = signedIn
  if (!(await isOfOrganization(context, connection, email)) || !(await mayUseAccount(context, connection, user)))
    return false
  const target = { userId: user.id, credentialVersion: user.credentialVersion }
  const link = { connectionId: connection.id, issuer, subject, email }
  const facts = { provider: connectionName(connection) }
  const notices = createNotices(context, { user, kind: 'provider_linked', request, facts })
  if ((await context.store.linkedAccounts.add(target, link, notices, context.clock.now())) !== 'linked') return false
  context.signalOutbox()
  const details = { connection: connection.id }
  await audit(context, request, 'provider_linked', { actor: user.id, subject: user.id, details })
  reply.redirect('/account/providers', 303)
  return true
}
