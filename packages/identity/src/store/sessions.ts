import type { Clock } from '@gatehouse/kit'
import type { FactorKind } from '../model/factors/second-factor.ts'
import type { RevocationTimes } from '../model/grants/revocation-times.ts'
import type { ProviderSession, Session } from '../model/grants/session.ts'
import type { User } from '../model/user.ts'
import type { OutboxMessage } from './operations.ts'

/** Creates the messages for the clients that were used in a session that ends. */
export type CreateLogoutMessages = (sessionId: string, userId: string, clientIds: readonly string[]) => OutboxMessage[]

/** How everything that a user is signed in to ends. */
export interface SignOutOptions extends RevocationTimes {
  readonly createLogoutMessages: CreateLogoutMessages
  /** The clients whose grants end with the session in which they were given. The grants of others outlive it. */
  readonly endsGrantsOf: readonly string[]
}

/** An active session with its user, and what the user has enrolled. */
export interface SignedIn {
  readonly session: Session
  readonly user: User
  readonly factors: readonly FactorKind[]
}

/** What is stored together with a sign-in. */
export interface SignInRecord {
  /** Messages for the outbox. */
  readonly messages?: readonly OutboxMessage[]
  /** Whether this browser is not known as one of the user. */
  readonly isNewDevice?: boolean
  /** The account at a provider that the user signed in with. */
  readonly provider?: ProviderSessionRecord | undefined
  /** Whether it waited for a second factor since then. */
  readonly waited?: boolean
  /** Where it did not wait, a logout at the provider that is later than this clock was recorded by one that is ahead. */
  readonly clock?: Clock
}

/** The account at a provider that a user signed in with, as it is stored. */
export interface ProviderSessionRecord extends Pick<ProviderSession, 'linkId' | 'sid'> {
  readonly id: string
  readonly idTokenSealed: string | undefined
  /** When the user signed in there, in Unix milliseconds: a logout there from then on makes the sign-in void. */
  readonly since: number
}

/** A session that a factor raises, which is enrolled in it. */
export interface RaisedSession {
  readonly id: string
  /** The methods (RFC 8176) that the enrolment proved there. */
  readonly amr: readonly string[]
  /** Of the cookie that the session has from then on. */
  readonly secretHash: string
}

/** Browser sessions. */
export interface Sessions {
  /**
   * Starts a session of a user who was verified with the credentials of this version. False when they have changed, the
   * account was locked or deleted, or a logout at the provider made the sign-in void: then there is no session.
   */
  start(session: Session, secretHash: string, credentialVersion: string, record?: SignInRecord): Promise<boolean>
  /**
   * Continues the session of a user who signed in again, with a new cookie. False as for `start`, when it has ended, or
   * when the sign-in waited and the session continued since through another session of the account at the provider.
   */
  renew(session: Session, secretHash: string, credentialVersion: string, record?: SignInRecord): Promise<boolean>
  /** The active session of the cookie, with its user. Its use extends it, up to `maxSessionMs` after the sign-in. */
  find(secretHash: string, now: number, maxSessionMs: number): Promise<SignedIn | undefined>
  listByUser(userId: string, now: number): Promise<Session[]>
  /**
   * Ends a session of the user with the grants that end with it, and adds the logout messages of the clients that were
   * used in it to the outbox.
   */
  end(id: string, userId: string, end: SignOutOptions): Promise<boolean>
}
