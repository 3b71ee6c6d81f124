import type { UserEnd } from './sessions.ts'
import type { UserChange } from './users.ts'

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
  setPassword(change: PasswordChange, end: UserEnd): Promise<boolean>
  /** Sets the password by a mailed link of the kind `reset`, which is used up in the same step, and ends everything. */
  resetPassword(linkHash: string, passwordHash: string, end: UserEnd): Promise<boolean>
  /** Notes that the address is the user's, by a mailed link of the kind `verify`, which is used up in the same step. */
  verifyEmail(linkHash: string, now: number): Promise<boolean>
  /** Locks or unlocks; locking ends every grant, mailed link and session. */
  setLocked(userId: string, locked: boolean, end: UserEnd): Promise<UserChange>
}
