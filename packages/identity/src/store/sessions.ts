import type { Session } from '../session.ts'
import type { User } from '../user.ts'
import type { OutboxMessage } from './outbox.ts'
import type { RevocationTimes } from './revocations.ts'

/** Makes what the outbox takes when a session ends in which these clients were used. */
export type TellLogout = (sessionId: string, userId: string, clientIds: readonly string[]) => OutboxMessage[]

/** The end of everything a user is signed in to. */
export interface UserEnd extends RevocationTimes {
  readonly tell: TellLogout
}

export interface Sessions {
  start(session: Session, secretHash: string): Promise<void>
  /** The same user signed in again: the session goes on as this, under a new cookie. False when it is over. */
  renew(session: Session, secretHash: string): Promise<boolean>
  /** The live session behind the cookie, with its user; lives on for being used, up to `longestMs` after the login. */
  find(secretHash: string, now: number, longestMs: number): Promise<{ session: Session; user: User } | undefined>
  ofUser(userId: string, now: number): Promise<Session[]>
  /** Ends a session of the user, and puts what `tell` makes for the clients that were used in it into the outbox. */
  end(id: string, userId: string, tell: TellLogout): Promise<boolean>
}
