import type { RevocationTimes } from '../model/revocation-times.ts'
import type { Session } from '../model/session.ts'
import type { User } from '../model/user.ts'
import type { OutboxMessage } from './operations.ts'

/** Makes what the outbox takes when a session ends in which these clients were used. */
export type CreateLogoutMessages = (sessionId: string, userId: string, clientIds: readonly string[]) => OutboxMessage[]

/** The end of everything a user is signed in to. */
export interface SignOutOptions extends RevocationTimes {
  readonly createLogoutMessages: CreateLogoutMessages
}

export interface Sessions {
  /**
   * Begins a session of a user who was verified by the credentials of this version. False when they have changed, or the
   * account was locked or deleted, since: then there is no session.
   */
  start(session: Session, secretHash: string, credentialVersion: string): Promise<boolean>
  /** The same user signed in again: the session goes on as this, under a new cookie. False as for `start`, or when it has ended. */
  renew(session: Session, secretHash: string, credentialVersion: string): Promise<boolean>
  /** The live session behind the cookie, with its user; lives on for being used, up to `longestMs` after the login. */
  find(secretHash: string, now: number, maxSessionMs: number): Promise<{ session: Session; user: User } | undefined>
  listByUser(userId: string, now: number): Promise<Session[]>
  /** Ends a session of the user, and puts what `tell` makes for the clients that were used in it into the outbox. */
  end(id: string, userId: string, createLogoutMessages: CreateLogoutMessages): Promise<boolean>
}
