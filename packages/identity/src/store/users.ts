import type { Passkey } from '../model/factors/passkey.ts'
import type { RevocationTimes } from '../model/grants/revocation-times.ts'
import type { User } from '../model/user.ts'
import type { OutboxMessage } from './operations.ts'
import type { SignOutOptions } from './sessions.ts'

/** A user to create, or the new state of one. */
export interface NewUser {
  readonly id: string
  readonly username: string
  readonly plan: string | undefined
  readonly email: string | undefined
  readonly emailVerified: boolean
  readonly roles: readonly string[]
  readonly claims: Readonly<Record<string, unknown>>
  /** Undefined keeps the password of an existing user … */
  readonly passwordHash: string | undefined
  /** … and this is the first password of a new one. */
  readonly firstPasswordHash?: string
}

/** The user as it was read: what a change expects. */
export type ExpectedUser = Omit<NewUser, 'id' | 'passwordHash' | 'firstPasswordHash'>

/** The result of a change. The last owner who can sign in can't be changed into anything else. */
export type UserChange = 'changed' | 'missing' | 'last_owner'

/** Users. */
export interface Users {
  find(id: string): Promise<User | undefined>
  /** By username or address, in {@link normalizeName normal form}. */
  findByLogin(login: string): Promise<User | undefined>
  list(after: string, limit: number): Promise<User[]>
  /** @throws NameTaken */
  create(user: NewUser, outbox: readonly OutboxMessage[], now: number): Promise<void>
  /** Users with the role, in the order of their ids. */
  listByRole(role: string, after: string, limit: number): Promise<User[]>
  /**
   * Updates a user who is still as `expected`, with messages for the outbox. Access tokens that were issued under a
   * lost management role are revoked, until the change is stored: the time is read after every wait. @throws NameConflict
   */
  update(
    user: NewUser,
    expected: ExpectedUser,
    outbox: readonly OutboxMessage[],
    times: () => RevocationTimes,
  ): Promise<UserChange | 'outdated'>
  /**
   * Deletes the user with all sessions, grants and keys, and adds them to the revocation feed, and messages to the
   * outbox. @throws RolesChanged
   */
  remove(
    id: string,
    end: SignOutOptions,
    messages?: readonly OutboxMessage[],
    expectedRoles?: ExpectedRoles,
  ): Promise<UserChange>
}

/**
 * The roles by which a caller was allowed to change another user: the change is made only while the user has the same
 * ones. Undefined for changes of a user's own.
 */
export type ExpectedRoles = readonly string[] | undefined

/** The user does not have the {@link ExpectedRoles} any more; nothing was changed. */
export class RolesChanged extends Error {
  override readonly name = 'RolesChanged'
}

/** A unique name (an id, a username, an address) is in use. */
export class NameConflict extends Error {
  override readonly name = 'NameConflict'
  readonly member: 'id' | 'username' | 'email'

  constructor(member: NameConflict['member'], message: string) {
    super(message)
    this.member = member
  }
}

/** Who has a plan: a user, a client, or an API key with a plan of its own. */
export interface PlanMember {
  /** Of a key the id by which gateways count it. */
  readonly id: string
  readonly kind: 'user' | 'client' | 'key'
  readonly key?: { readonly id: string; readonly name: string; readonly owner: string }
}

/** Whose plan is searched for. */
export interface PlanSearch {
  /** Undefined for users and clients without one. */
  readonly plan: string | undefined
  /** Only ids above this one. */
  readonly after: string
  readonly limit: number
  /** Keys that expired by now are left out, Unix milliseconds. */
  readonly now: number
}

/** The common ids of users and clients; each has a plan. */
export interface Subjects {
  findPlan(id: string): Promise<{ readonly plan: string | undefined; readonly kind: 'user' | 'client' } | undefined>
  /** Every plan that a subject or a key has. */
  listPlans(): Promise<string[]>
  /** The users, clients and keys of a plan in the order of ids. */
  listByPlan(search: PlanSearch): Promise<PlanMember[]>
}

/** A session that continues where the others of its user end. */
export interface KeptSession {
  readonly id: string
  /** Of the cookie that the session has from then on. */
  readonly secretHash: string
}

/** A new password of an existing user. */
export interface PasswordChange {
  readonly userId: string
  readonly hash: string
  /** The credentials that authorized the change: it happens only while they are current. Undefined: in any case. */
  readonly verified?: string
  /** The session that continues: the one in which the user changed the password. */
  readonly keepSession?: KeptSession
  /** Whether the user's API keys are deleted too. */
  readonly endApiKeys: boolean
  readonly expectedRoles?: ExpectedRoles
  /** Messages for the outbox. */
  readonly messages?: readonly OutboxMessage[]
}

/** A removal of the password, by a user who has another way to sign in. */
export interface PasswordRemoval {
  readonly userId: string
  /** The credentials that authorized it: it happens only while they are current. */
  readonly verified: string
  /** The session that continues. */
  readonly keepSession: KeptSession
  /** The connection that is the only way to sign in for the user's address. */
  readonly required?: string | undefined
  /** Messages for the outbox. */
  readonly messages: readonly OutboxMessage[]
}

/** A reset of the password by a mailed link. */
export interface PasswordReset {
  readonly linkHash: string
  readonly passwordHash: string
  /** Messages for the outbox. */
  readonly messages: readonly OutboxMessage[]
}

/** The end of everything that a user is signed in to. */
export interface SignOutEverywhere {
  readonly userId: string
  /** The session that continues. */
  readonly keepSession: KeptSession | undefined
  /** Messages for the outbox. */
  readonly messages: readonly OutboxMessage[]
}

/** Changes of the credentials of a user. */
export interface Accounts {
  /**
   * Sets the password and ends every grant, mailed link and session but `keepSession`. False when nothing was changed.
   * @throws RolesChanged
   */
  setPassword(change: PasswordChange, end: SignOutOptions): Promise<boolean>
  /** Removes the password, and ends what `setPassword` ends; not if it is the last way to sign in. */
  removePassword(removal: PasswordRemoval, end: SignOutOptions): Promise<'removed' | 'last_way' | 'outdated'>
  /**
   * Stores another hash of the same password, made from it when the user signed in. Nothing ends. Without effect when the
   * stored hash is no longer `from`: the password was changed, or another sign-in was faster.
   */
  replaceHash(userId: string, from: string, to: string): Promise<void>
  /** Consumes a link for `reset`, sets the password and ends everything, in one step. */
  resetPassword(reset: PasswordReset, end: SignOutOptions): Promise<boolean>
  /** Consumes a link for `verify` and marks the address as verified, in one step. */
  verifyEmail(linkHash: string, now: number): Promise<boolean>
  /** Ends every grant, mailed link and session but `keepSession`, and forgets every known browser, in one step. */
  signOutEverywhere(everywhere: SignOutEverywhere, end: SignOutOptions): Promise<void>
  /** Locks or unlocks; locking ends every grant, mailed link and session. @throws RolesChanged */
  setLocked(
    userId: string,
    locked: boolean,
    end: SignOutOptions,
    expected?: Pick<User, 'lockedAt'>,
    expectedRoles?: ExpectedRoles,
  ): Promise<UserChange | 'outdated'>
}

/** The purpose of a mailed link. */
export type LinkPurpose = 'verify' | 'reset'

/**
 * A link that was mailed to a user. It works once, while the account has the address that it was mailed to and, with a
 * `credentialVersion`, these credentials. One for `reset` works only while the account has no management role.
 */
export interface MailedLink {
  /** Of the token in the link. */
  readonly hash: string
  readonly purpose: LinkPurpose
  readonly userId: string
  readonly email: string
  /** Undefined for links that grant no access. */
  readonly credentialVersion: string | undefined
  readonly expiresAt: number
}

/** Mailed links that verify an address or reset a password. */
export interface MailedLinks {
  /**
   * Replaces the user's earlier link for the same purpose and adds its mail to the outbox. False when the link no
   * longer matches the account.
   */
  put(link: MailedLink, message: OutboxMessage): Promise<boolean>
  /** The link while it is valid; reading does not consume it. */
  find(hash: string, purpose: LinkPurpose, now: number): Promise<MailedLink | undefined>
  /** Consumes the link: returned to exactly one caller. */
  consume(hash: string, purpose: LinkPurpose, now: number): Promise<MailedLink | undefined>
}

/** A request for an account with this address; the link that is mailed there completes it. */
export interface Registration {
  /** Of the token in the link. */
  readonly hash: string
  /** The id that the account will have. */
  readonly userId: string
  /** What authenticators call the user who chooses a passkey (base64url). */
  readonly userHandle: string
  readonly email: string
  readonly expiresAt: number
}

/** The account that completes a registration. */
export interface CompletedRegistration {
  readonly registration: Pick<Registration, 'hash' | 'userHandle'>
  readonly user: NewUser
  /** The way to sign in of a user without a password. */
  readonly passkey?: Passkey | undefined
  /** Messages for the outbox. */
  readonly messages: readonly OutboxMessage[]
}

/** Registrations that wait for their mailed link. */
export interface Registrations {
  /** Replaces an earlier registration for the address and adds its messages to the outbox. */
  put(registration: Registration, messages: readonly OutboxMessage[]): Promise<void>
  /** The registration while its link is valid; reading does not consume it. */
  find(hash: string, now: number): Promise<Registration | undefined>
  /**
   * Consumes the link and creates the account in one step: `created` for exactly one caller. `expired`, without effect,
   * for a link that is no longer valid, `passkey_in_use` for a credential of another account. @throws NameConflict
   */
  complete(completed: CompletedRegistration, now: number): Promise<'created' | 'expired' | 'passkey_in_use'>
}
