import type { Session } from '../session.ts'
import type { User } from '../user.ts'
import type { OutboxMessage } from './outbox.ts'

export interface Sessions {
  start(session: Session, secretHash: string): Promise<void>
  /** The live session behind the cookie, with its user; remembers that it was seen. */
  find(secretHash: string, now: number): Promise<{ session: Session; user: User } | undefined>
  ofUser(userId: string, now: number): Promise<Session[]>
  /** Ends a session of the user, and puts what `tell` makes for the clients that were used in it into the outbox. */
  end(id: string, userId: string, tell: (clientIds: string[]) => OutboxMessage[]): Promise<boolean>
}
