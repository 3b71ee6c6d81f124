import type { RevocationTimes } from '../model/revocation-times.ts'
import type { User } from '../model/user.ts'
import type { OutboxMessage } from './operations.ts'
import type { SignOutOptions } from './sessions.ts'

export interface NewUser {
  readonly id: string
  readonly username: string
  readonly plan: string | undefined
  readonly email: string | undefined
  readonly emailVerified: boolean
  readonly roles: readonly string[]
  readonly claims: Readonly<Record<string, unknown>>
  /** Undefined leaves the password of a user who exists as it is … */
  readonly passwordHash: string | undefined
  /** … and one who doesn't exist yet begins with this. */
  readonly firstPasswordHash?: string
}

/** What a change of a user is made from. */
export type ExpectedUser = Omit<NewUser, 'id' | 'passwordHash' | 'firstPasswordHash'>

/** What became of a change. The last owner who is not locked stays an owner, unlocked. */
export type UserChange = 'changed' | 'missing' | 'last_owner'

export interface Users {
  find(id: string): Promise<User | undefined>
  /** By username or address, in normal form. */
  findByLogin(login: string): Promise<User | undefined>
  list(after: string, limit: number): Promise<User[]>
  /** @throws NameTaken */
  create(user: NewUser, outbox: readonly OutboxMessage[], now: number): Promise<void>
  /** Users who hold the role. */
  listByRole(role: string, after: string, limit: number): Promise<User[]>
  /**
   * Changes what is known of a user of whom nothing but `expected` was known until now, with messages for the outbox.
   * Access tokens that were issued under a management role end with it. @throws NameTaken
   */
  update(
    user: NewUser,
    expected: ExpectedUser,
    outbox: readonly OutboxMessage[],
    end: RevocationTimes,
  ): Promise<UserChange | 'outdated'>
  /** Deletes the user and everything of theirs, and tells the revocation feed. */
  remove(id: string, end: SignOutOptions): Promise<UserChange>
}

/** A unique name (an id, a username, an address) belongs to somebody else. */
export class NameConflict extends Error {
  override readonly name = 'NameConflict'
  readonly member: 'id' | 'username' | 'email'

  constructor(member: NameConflict['member'], message: string) {
    super(message)
    this.member = member
  }
}

/** Users and clients share one space of names; each has a plan. */
export interface Subjects {
  findPlan(id: string): Promise<{ readonly plan: string | undefined; readonly kind: 'user' | 'client' } | undefined>
}

/** A new password for a user who exists. */
export interface PasswordChange {
  readonly userId: string
  readonly hash: string
  /** The credentials that the change was allowed by: it happens only while they are the current ones. Left out: whatever they are. */
  readonly verified?: string
  /** The session that goes on: the one in which the user changed the password. */
  readonly keepSession?: string
  /** Whether the user's API keys end too. */
  readonly endApiKeys: boolean
}

/** What changes who may sign in as a user. */
export interface Accounts {
  /** Sets the password and ends every grant, mailed link and session but `keepSession`. False when nothing was changed. */
  setPassword(change: PasswordChange, end: SignOutOptions): Promise<boolean>
  /** Sets the password by a mailed link of the kind `reset`, which is used up in the same step, and ends everything. */
  resetPassword(linkHash: string, passwordHash: string, end: SignOutOptions): Promise<boolean>
  /** Notes that the address is the user's, by a mailed link of the kind `verify`, which is used up in the same step. */
  verifyEmail(linkHash: string, now: number): Promise<boolean>
  /** Locks or unlocks; locking ends every grant, mailed link and session. */
  setLocked(userId: string, locked: boolean, end: SignOutOptions): Promise<UserChange>
}

/** What a mailed link is for. */
export type LinkPurpose = 'verify' | 'reset'

/**
 * A link that was mailed to a user. It works once, and only while the account has the address that it was mailed to and,
 * when `credentialVersion` is there, the credentials of that moment.
 */
export interface MailedLink {
  /** Of the token in the link. */
  readonly hash: string
  readonly purpose: LinkPurpose
  readonly userId: string
  readonly email: string
  /** Left out for links that let nobody in. */
  readonly credentialVersion: string | undefined
  readonly expiresAt: number
}

export interface MailedLinks {
  /** Puts the link in the place of the user's earlier one of its kind, and its mail into the outbox. False when it does not fit the account any more. */
  put(link: MailedLink, message: OutboxMessage): Promise<boolean>
  /** The link while it works; looking uses nothing up. */
  find(hash: string, purpose: LinkPurpose, now: number): Promise<MailedLink | undefined>
  /** Uses the link up: its facts for exactly one caller, ever. */
  consume(hash: string, purpose: LinkPurpose, now: number): Promise<MailedLink | undefined>
}

/** A mailed link that completes one sign-in, in the browser that it began in. */
export interface SignInLink {
  /** Of the token in the link. */
  readonly hash: string
  readonly userId: string
  readonly email: string
  /** Of the credentials that were verified when the link was made. */
  readonly credentialVersion: string
  /** Of the browser's own cookie. */
  readonly browserHash: string
  /** Sealed: what the browser goes on with. */
  readonly continuation: string
  readonly expiresAt: number
}

/** A link, while the account has the address and the credentials that it was made for and is not locked. */
export interface SignInLinkWithUser {
  readonly user: User
  readonly continuation: string
}

export interface SignInLinks {
  /** Keeps the link, and puts its mail into the outbox. */
  put(link: SignInLink, message: OutboxMessage): Promise<void>
  /** The link while it works in this browser; looking uses nothing up. */
  find(hash: string, browserHash: string, now: number): Promise<SignInLinkWithUser | undefined>
  /** Uses the link up: it is answered to exactly one caller, ever. */
  consume(hash: string, browserHash: string, now: number): Promise<SignInLinkWithUser | undefined>
}

/** Somebody asked for an account with this address; whoever opens the link that is mailed there makes it. */
export interface Registration {
  /** Of the token in the link. */
  readonly hash: string
  /** The id that the account will have. */
  readonly userId: string
  readonly email: string
  readonly expiresAt: number
}

export interface Registrations {
  /** Puts the registration in the place of an earlier one for its address, and its messages into the outbox. */
  put(registration: Registration, messages: readonly OutboxMessage[]): Promise<void>
  /** The registration while its link works; looking uses nothing up. */
  find(hash: string, now: number): Promise<Registration | undefined>
  /** Makes the account and uses the link up in one step. True for exactly one caller, ever. @throws NameTaken */
  complete(hash: string, user: NewUser, messages: readonly OutboxMessage[], now: number): Promise<boolean>
}
