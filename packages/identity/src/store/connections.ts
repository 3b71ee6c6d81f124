import type { Connection } from '../model/connection.ts'
import type { ProviderSession } from '../model/grants/session.ts'
import type { User } from '../model/user.ts'
import type { OutboxMessage } from './operations.ts'
import type { SignOutOptions } from './sessions.ts'
import type { ExpectedRoles, NewUser } from './users.ts'

/** A connection to create, or the new state of one. */
export interface NewConnection extends Pick<Connection, 'id' | 'settings'> {
  /** Undefined keeps the secrets of an existing connection. */
  readonly secretSealed: string | undefined
}

/** There is no organization with the id that a connection names, or it has another connection. */
export class OrganizationConflict extends Error {
  override readonly name = 'OrganizationConflict'
}

/** Connections to other identity providers. */
export interface Connections {
  find(id: string): Promise<Connection | undefined>
  /** All of them, in the order of their ids: there are few. */
  list(): Promise<Connection[]>
  /** `conflict`: the id is in use. @throws OrganizationConflict */
  create(connection: NewConnection, now: number): Promise<'created' | 'conflict'>
  /** Updates a connection that was not updated since it was read as `expected`. @throws OrganizationConflict */
  update(
    connection: NewConnection,
    expected: Pick<Connection, 'settings' | 'updatedAt'>,
    now: number,
  ): Promise<'changed' | 'missing' | 'outdated'>
  /** Deletes the connection and the links of users to it. */
  remove(id: string): Promise<boolean>
}

/** A browser's way to a provider and back, which was sealed when it began. Used once. */
export interface ConnectionFlow {
  /** Of the parameter `state`. */
  readonly hash: string
  readonly connectionId: string
  /** Of the browser's own cookie. */
  readonly browserHash: string
  readonly sealed: string
  /** Sealed: what the browser resumes. */
  readonly continuation: string
  readonly expiresAt: number
}

/** A flow whose browser came back. */
export interface ConsumedFlow extends Pick<ConnectionFlow, 'sealed' | 'continuation'> {
  readonly responseSealed: string | undefined
}

/** The flows that wait for the provider's response. */
export interface ConnectionFlows {
  put(flow: ConnectionFlow): Promise<void>
  /** Stores a response that came without the browser's cookies, sealed. True for the first one of a flow. */
  putResponse(hash: string, connectionId: string, responseSealed: string, now: number): Promise<boolean>
  /** Consumes the flow of this browser at this connection: returned to exactly one caller. */
  consume(
    flow: Pick<ConnectionFlow, 'hash' | 'connectionId' | 'browserHash'>,
    now: number,
  ): Promise<ConsumedFlow | undefined>
}

/** Who a user is at a provider, whichever connection leads there. */
export interface ProviderSubject {
  readonly issuer: string
  readonly subject: string
}

/** Who a user is at the provider of a connection: unique. */
export interface UpstreamAccount extends ProviderSubject {
  readonly connectionId: string
}

/** The link of a user to an account at a provider. Times are Unix milliseconds. */
export interface LinkedAccount extends UpstreamAccount {
  readonly id: string
  /** The email address at the provider when it was linked. */
  readonly email: string | undefined
  readonly linkedAt: number
  readonly usedAt: number
}

/** A link to add. */
export type NewLink = UpstreamAccount & { readonly email: string | undefined }

/** The account that a link is added to, as it was verified: the link is added only while it is still so. */
export interface LinkTarget {
  readonly userId: string
  readonly credentialVersion: string
  /** The verified email address that justifies a link without a question, to an account without a management role. */
  readonly verifiedEmail?: string
}

/** A link to remove. */
export interface LinkRemoval {
  readonly userId: string
  readonly linkId: string
  /** The session that continues: the one in which the user removes it. */
  readonly keepSession: string
  /** Whether passkeys are switched on: only then a passkey is another way to sign in. */
  readonly passkeys: boolean
  /** The connection that is the only way to sign in for the user's address. */
  readonly required: string | undefined
}

/** A removal of a link of another user. */
export type LinkRevocation = Omit<LinkRemoval, 'keepSession'> & { readonly expectedRoles?: ExpectedRoles }

/** A user who was found by a link. */
export interface LinkedUser {
  readonly user: User
  readonly linkId: string
}

/** The links of users to accounts at providers. */
export interface LinkedAccounts {
  /** The user of an upstream account, through an enabled connection; records the use. */
  use(account: UpstreamAccount, now: number): Promise<LinkedUser | undefined>
  listByUser(userId: string): Promise<LinkedAccount[]>
  /**
   * Adds a link, through an enabled connection; `other_user` when the upstream account belongs to another user,
   * `outdated` when the target changed, `disabled` when the connection is disabled, or deleted.
   */
  add(
    target: LinkTarget,
    link: NewLink,
    messages: readonly OutboxMessage[],
    now: number,
  ): Promise<'linked' | 'other_user' | 'outdated' | 'disabled'>
  /**
   * Creates a user with a link, through an enabled connection; `linked` when the upstream account was linked meanwhile,
   * `disabled` when the connection is disabled, or deleted. @throws NameConflict
   */
  createUser(
    user: NewUser,
    link: NewLink,
    messages: readonly OutboxMessage[],
    now: number,
  ): Promise<'created' | 'linked' | 'disabled'>
  /**
   * Removes a link of the user, who then has another way to sign in. What was verified through it is void, and other
   * sessions that were signed in to through it end.
   */
  remove(
    removal: LinkRemoval,
    end: SignOutOptions,
    messages: readonly OutboxMessage[],
  ): Promise<'removed' | 'missing' | 'last_way'>
  /**
   * Removes any link of a user, and ends every session, grant and mailed link. Returns how many ways to sign in are left;
   * undefined for an unknown link. @throws RolesChanged
   */
  revoke(link: LinkRevocation, end: SignOutOptions, messages: readonly OutboxMessage[]): Promise<number | undefined>
}

/** Where a session was signed in to through a provider. */
export interface StoredProviderSession {
  readonly id: string
  readonly connectionId: string
  readonly idTokenSealed: string | undefined
}

/** A sign-in at a provider of which there is no session yet. */
export interface WaitingProviderSession extends Pick<ProviderSession, 'linkId' | 'sid'> {
  /** In Unix milliseconds: a logout there from then on makes it void. */
  readonly since: number
  /** The session that it continues, if any. */
  readonly sessionId: string | undefined
}

/** A session at a provider, or all of a user there, that ended. */
export interface ProviderLogout {
  readonly connectionId: string
  readonly issuer: string
  /** One of the two at least. */
  readonly subject: string | undefined
  readonly sid: string | undefined
  /** Of the logout token's `jti`: it counts once. */
  readonly tokenHash: string
  /** When the token is no longer accepted. */
  readonly expiresAt: number
}

/** A session that ended with the one at the provider. */
export interface EndedSession {
  readonly id: string
  readonly userId: string
}

/** The sessions that were signed in to through a provider. */
export interface ProviderSessions {
  /** Through which provider a session was signed in to last. */
  find(sessionId: string): Promise<StoredProviderSession | undefined>
  /**
   * Whether a sign-in is void: its connection was deleted, disabled or is of a suspended organization, the session there
   * has ended since, or the one that it continues has a newer one there.
   */
  isVoid(waiting: WaitingProviderSession): Promise<boolean>
  /** Ends the sessions that a logout is about, in one step; `replayed` when the same token was used before. */
  end(logout: ProviderLogout, end: SignOutOptions): Promise<readonly EndedSession[] | 'replayed'>
}
