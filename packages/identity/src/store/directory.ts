import type { Session } from '../model/grants/session.ts'
import type { User } from '../model/user.ts'
import type { SignOutOptions } from './sessions.ts'

/** Selects users; each member narrows it. */
export interface UserFilter {
  /** The beginning of the id or, in normal form, of the username. */
  readonly prefix?: { readonly id: string; readonly username: string } | undefined
  /** Whether usernames that are an address or a number are not found by their beginning: whoever asks sees them masked. */
  readonly isMasked?: boolean | undefined
  /** In lower case. */
  readonly email?: string | undefined
  /** Without spaces and separators. */
  readonly phoneNumber?: string | undefined
  readonly plan?: string | undefined
  readonly role?: string | undefined
  readonly locked?: boolean | undefined
  /** Whether the address is verified. */
  readonly verified?: boolean | undefined
}

/** Finds users. */
export interface UserDirectory {
  /** The users that the filter selects, in the order of their ids. */
  search(filter: UserFilter, after: string, limit: number): Promise<User[]>
  /** When each of these users signed in last, in Unix milliseconds; without those who never did. */
  findLastSignIns(ids: readonly string[]): Promise<ReadonlyMap<string, number>>
}

/** Selects active sessions; each member narrows it. */
export interface SessionFilter {
  readonly userId?: string | undefined
  readonly clientId?: string | undefined
  readonly address?: string | undefined
  /** The session with this id (a UUID). */
  readonly id?: string | undefined
  /** Only those at a new address or in a new browser. */
  readonly isNew?: boolean | undefined
  /** The session of the caller, which is left out. */
  readonly except?: string | undefined
}

/** A session with the clients that were used in it. */
export interface ListedSession extends Session {
  readonly clientIds: readonly string[]
  /** Whether the user had not signed in from the address before. */
  readonly isNewAddress: boolean
  /** Whether the user had not signed in with the browser before. */
  readonly isNewDevice: boolean
}

/** The end of a page of sessions, which are listed by when they began. */
export interface SessionCursor {
  readonly createdAt: number
  readonly id: string
}

/** Finds and ends sessions of many users. */
export interface SessionDirectory {
  /** Active sessions, the latest first. */
  list(filter: SessionFilter, after: SessionCursor | undefined, limit: number, now: number): Promise<ListedSession[]>
  /** Ends these sessions of a user, or all of them, in one step; returns how many ended. */
  end(userId: string, ids: readonly string[] | undefined, end: SignOutOptions): Promise<number>
}
