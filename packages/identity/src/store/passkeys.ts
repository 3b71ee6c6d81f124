import type { Passkey } from '../model/factors/passkey.ts'
import type { User } from '../model/user.ts'
import type { OutboxMessage } from './operations.ts'
import type { RaisedSession } from './sessions.ts'
import type { ExpectedRoles } from './users.ts'

/** A passkey with its owner, whose account is not locked. */
export interface PasskeyOwner {
  readonly passkey: Passkey
  readonly user: User
  /** What the authenticator calls the user (base64url). */
  readonly userHandle: string
}

/** A passkey to store. */
export interface NewPasskey {
  readonly passkey: Passkey
  /** Of the user's credentials when the registration was allowed: it happens only while they are current. */
  readonly credentialVersion: string
  /** The session in which it is created. */
  readonly session: RaisedSession
}

/** What a verified response says about a passkey. */
export interface PasskeyUse {
  readonly counter: number
  readonly backedUp: boolean
  readonly at: number
  readonly userAgent: string
  /** Sent if it turns out to be a regression. */
  readonly warnings: readonly OutboxMessage[]
}

/** What to do about a use: decided by the rule that is given, in the transaction that locks the passkey. */
export type DecideUse = (passkey: Passkey) => 'accept' | 'regression'

/** The result of a registration: stored, in use already, above the limit, or no longer allowed. */
export type AddPasskeyResult = 'added' | 'duplicate' | 'full' | 'outdated'

/** The result of a removal: without the last way to sign in nobody could reach the account. */
export type RemovePasskeyResult = 'removed' | 'missing' | 'last_way'

/** A removal of a passkey. Messages go to the outbox if it is removed. */
export interface PasskeyRemoval {
  readonly userId: string
  readonly id: string
  /** Whether it may be the last way to sign in: for management, which can set a password. */
  readonly evenLast: boolean
  /** The connection that is the only way to sign in for the user's address. */
  readonly required?: string | undefined
  readonly expectedRoles?: ExpectedRoles
}

/** Passkeys that exist. Every change names the owner, in the statement itself. */
export interface Passkeys {
  /** By the credential's identifier; undefined for an unknown one and for that of a locked user. */
  find(credentialId: string): Promise<PasskeyOwner | undefined>
  /** In the order in which they were created. */
  listByUser(userId: string): Promise<Passkey[]>
  /** Whether the user has any: one look into an index. */
  exists(userId: string): Promise<boolean>
  /**
   * Records a use that `decide` accepts, or the regression that it finds, with the messages of the use for the outbox. Of
   * two uses at once the second is decided by what the first left.
   */
  recordUse(id: string, use: PasskeyUse, decide: DecideUse): Promise<'accepted' | 'regression' | 'missing'>
  /** False when the user has no such passkey. */
  rename(userId: string, id: string, name: string): Promise<boolean>
  /** @throws RolesChanged */
  remove(removal: PasskeyRemoval, messages: readonly OutboxMessage[]): Promise<RemovePasskeyResult>
}

/** Registrations of passkeys. */
export interface PasskeyRegistrations {
  /** The user's handle, which stays the same; `proposed` becomes it if there is none yet. */
  userHandle(userId: string, proposed: string): Promise<string | undefined>
  /**
   * Stores a passkey while the user has fewer than `max`, and raises the session, whose cookie changes; with messages for
   * the outbox. It ends the order to enrol a factor. `outdated` also where the session has ended.
   */
  add(created: NewPasskey, max: number, messages: readonly OutboxMessage[]): Promise<AddPasskeyResult>
}

/** What a challenge is for: a response to one purpose is none to another. */
export type ChallengePurpose = 'register' | 'sign-up' | 'sign-in' | 'factor'

/** A challenge that one response may answer. */
export interface PasskeyChallenge {
  readonly hash: string
  readonly purpose: ChallengePurpose
  /** Of the browser's own cookie. */
  readonly browserHash: string
  /** The user who may answer; undefined where a sign-in begins and nobody is known, and for one without an account. */
  readonly userId: string | undefined
}

/** Challenges that wait for their response. */
export interface PasskeyChallenges {
  put(challenge: PasskeyChallenge, expiresAt: number): Promise<void>
  /** Consumes a challenge that equals this one and has not expired: true for exactly one caller. */
  consume(challenge: PasskeyChallenge, now: number): Promise<boolean>
}
