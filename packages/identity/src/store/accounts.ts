import type { OutboxMessage } from './outbox.ts'
import type { UserEnd } from './sessions.ts'
import type { UserChange } from './users.ts'

/** What changes who may come in as a user. */
export interface Accounts {
  /** Sets the password and ends every grant and session but `keepSession`. */
  setPassword(userId: string, hash: string, keepSession: string | undefined, end: UserEnd): Promise<boolean>
  /** Locks or unlocks; locking ends every grant and session. */
  setLocked(userId: string, locked: boolean, end: UserEnd): Promise<UserChange>
  putLink(link: MailedLink, message: OutboxMessage): Promise<void>
  findLink(hash: string, purpose: MailedLink['purpose'], now: number): Promise<MailedLink | undefined>
  /** Uses the link, and what it is for happens in the same step: the address is verified, or the password set. */
  useLink(
    hash: string,
    purpose: MailedLink['purpose'],
    passwordHash: string | undefined,
    end: UserEnd,
  ): Promise<boolean>
}

export interface MailedLink {
  readonly hash: string
  readonly purpose: 'verify' | 'reset'
  readonly userId: string
  readonly email: string
  readonly expiresAt: number
}
