import { randomUUIDv7 } from 'node:crypto'
import { audit } from '../audit/record.ts'
import { decideUnlinked } from '../connections/account-linking.ts'
import type { ProviderUser } from '../connections/exchange.ts'
import { findRequiredConnection, isOfOrganization } from '../connections/home.ts'
import type { FederationContext } from '../context/features.ts'
import { createRecipientMessage } from '../mail/messages.ts'
import { createNotices } from '../mail/notices.ts'
import { methodsOf } from '../model/authentication.ts'
import { type Connection, connectionName, maySignIn, signsOutThere } from '../model/connection.ts'
import type { User } from '../model/user.ts'
import { finishSignIn } from '../sessions/finish-sign-in.ts'
import { type BrowserExchange, sendSignInPageAgain } from '../sessions/sign-in-page.ts'
import { type LinkedUser, NameConflict, type NewLink } from '../store/index.ts'
import { joinOrganization, mayUseAccount } from './organization.ts'

/** A user whom a provider authenticated, and what the browser resumes. */
export interface ProviderSignIn {
  readonly connection: Connection
  readonly profile: ProviderUser
  /** When the exchange with the provider began, in Unix milliseconds. */
  readonly since: number
  readonly continuation: string
}

/** Signs in the user of a provider's account, whom the rules of linking name. False, without a response, when nobody may sign in. */
export async function signInAt(
  context: FederationContext,
  exchange: BrowserExchange,
  signIn: ProviderSignIn,
): Promise<boolean> {
  const { connection, profile, since, continuation } = signIn
  if (!maySignIn(connection)) return false
  if (!(await isOfOrganization(context, connection, profile.email))) return false
  // Before an account is created or linked that this connection may not open.
  const required = await findRequiredConnection(context, profile.email)
  if (required !== undefined && required !== connection.id) return false
  const found = await findUser(context, exchange, signIn)
  if (found === 'disabled') return false
  if (found === 'sign_in_first') {
    const values = { provider: connectionName(connection), email: signIn.profile.email ?? '' }
    const failure = { wrong: 'provider.exists', values, status: 409, name: values.email }
    sendSignInPageAgain(context, exchange, continuation, failure)
    return true
  }
  if (found === undefined) {
    const values = { provider: connectionName(connection) }
    sendSignInPageAgain(context, exchange, continuation, { wrong: 'provider.unknown', values, status: 403 })
    return true
  }
  const { user, linkId } = found
  if (!(await mayUseAccount(context, connection, user))) return false
  await joinOrganization(context, exchange.request, signIn, user)
  const kept = signsOutThere(connection) ? { idToken: profile.idToken } : {}
  const provider = { connectionId: connection.id, linkId, sid: profile.sid, since, ...kept }
  const { authTime } = profile
  const proven = { user, amr: methodsOf.federation, details: { connection: connection.id }, provider, authTime }
  return finishSignIn(context, exchange, proven, continuation)
}

function linkOf({
  connection,
  profile: { issuer, subject, email },
}: Omit<ProviderSignIn, 'continuation' | 'since'>): NewLink {
  return { connectionId: connection.id, issuer, subject, email }
}

/** `disabled`: the connection was disabled, or deleted, since it was read. Undefined for nobody. */
type FoundUser = LinkedUser | 'sign_in_first' | 'disabled' | undefined

/** The user of the linked account; of an unlinked one what {@link decideUnlinked} says. */
async function findUser(
  context: FederationContext,
  exchange: BrowserExchange,
  signIn: ProviderSignIn,
): Promise<FoundUser> {
  const { store, clock, features } = context
  const link = linkOf(signIn)
  const linked = await store.linkedAccounts.use(link, clock.now())
  if (linked !== undefined) return linked
  const { email } = signIn.profile
  const local = email === undefined ? undefined : await store.users.findByLogin(email)
  const mayCreate = signIn.connection.settings.create_users ?? features.registration
  const { profile, connection } = signIn
  // Who proved a domain says who has its addresses.
  const isOwn = connection.settings.organization !== undefined && profile.isVerified
  const facts = { email, isAuthoritative: profile.isAuthoritative || isOwn }
  const outcome = decideUnlinked(facts, local, mayCreate)
  if (outcome === 'refuse') return undefined
  if (outcome === 'create') return createUser(context, exchange, signIn, link)
  if (outcome === 'link' && local !== undefined && email !== undefined) {
    const added = await linkVerified(context, exchange, signIn, { ...local, email })
    if (added === 'disabled') return 'disabled'
  }
  return findLinkedMeanwhile(context, link)
}

/** The user of the linked account, which another first sign-in of the same user may have created just now. */
async function findLinkedMeanwhile({ store, clock }: FederationContext, link: NewLink): Promise<FoundUser> {
  return (await store.linkedAccounts.use(link, clock.now())) ?? 'sign_in_first'
}

/** Links the account with the verified address that the provider is authoritative for, with a notice to its owner. */
async function linkVerified(
  context: FederationContext,
  { request }: BrowserExchange,
  signIn: ProviderSignIn,
  local: User & { readonly email: string },
): Promise<'linked' | 'other_user' | 'outdated' | 'disabled'> {
  const { connection } = signIn
  const { email: verifiedEmail, id: userId, credentialVersion } = local
  const target = { userId, credentialVersion, verifiedEmail: verifiedEmail.toLowerCase() }
  const facts = { provider: connectionName(connection) }
  const notices = createNotices(context, { user: local, kind: 'provider_linked', request, facts })
  const added = await context.store.linkedAccounts.add(target, linkOf(signIn), notices, context.clock.now())
  if (added !== 'linked') return added
  context.signalOutbox()
  const details = { connection: connection.id, by: 'verified address' }
  await audit(context, request, 'provider_linked', { subject: userId, details })
  return added
}

/** Creates the account of a provider's user. Of two at once one is created, and both sign in to it. */
async function createUser(
  context: FederationContext,
  { request }: BrowserExchange,
  { profile, connection }: ProviderSignIn,
  link: NewLink,
): Promise<FoundUser> {
  const id = randomUUIDv7()
  const user = {
    id,
    username: profile.email ?? `${connection.id}:${id}`,
    plan: context.defaultPlan,
    email: profile.email,
    emailVerified: profile.email !== undefined,
    roles: [],
    claims: profile.claims,
    passwordHash: undefined,
  }
  const now = context.clock.now()
  try {
    const messages = [createRecipientMessage(context, id)]
    const result = await context.store.linkedAccounts.createUser(user, link, messages, now)
    if (result === 'disabled') return 'disabled'
    if (result === 'created') {
      context.signalOutbox()
      const details = { connection: connection.id }
      await audit(context, request, 'user_registered', { actor: id, subject: id, details })
    }
  } catch (error) {
    if (!(error instanceof NameConflict)) throw error
    // The address got an account a moment ago.
    return findLinkedMeanwhile(context, link)
  }
  return context.store.linkedAccounts.use(link, now)
}
