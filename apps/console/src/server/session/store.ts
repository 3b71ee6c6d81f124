import type { Previews } from '../preview/store.ts'
import type { SavedViews } from '../views/store.ts'
import type { Session } from './session.ts'

/** What ends sessions at the provider's word: one of its sessions, or all of a user. */
export type ProviderLogout = { readonly providerSessionId: string } | { readonly userId: string }

/** The tokens that a refresh brought. */
export type NewTokens = Pick<Session, 'idHash' | 'generation' | 'tokensSealed' | 'tokensExpireAt'>

/** The sessions. Each method is one atomic step. */
export interface Sessions {
  /**
   * Starts a session, ends the one that it replaces, and the oldest of the user beyond the maximum; expired ones of
   * anybody are removed.
   */
  start(session: Session, replaces: string | undefined): Promise<void>
  /** The session, unless it has expired. */
  find(idHash: string, now: number): Promise<Session | undefined>
  /** Records that the session was used. */
  touch(idHash: string, now: number): Promise<void>
  /** Ends a session. Returns it when this call ended it. */
  end(idHash: string): Promise<Session | undefined>
  /** Ends the sessions that a logout names. Returns the hashes of their ids. */
  endByProvider(logout: ProviderLogout): Promise<readonly string[]>
}

/** The right to refresh the tokens of a session: one process at a time, since a second use ends the family. */
export interface Refreshes {
  /**
   * Acquires the right until `leaseUntil`. False when another process has it, or has refreshed since `generation`. A
   * right whose holder died is free at `leaseUntil`.
   */
  acquire(session: Pick<Session, 'idHash' | 'generation'>, now: number, leaseUntil: number): Promise<boolean>
  /** Stores what a refresh brought and releases the right. False when the session ended or was refreshed meanwhile. */
  store(tokens: NewTokens): Promise<boolean>
  /** Releases the right after a refresh that failed for now. */
  release(session: Pick<Session, 'idHash' | 'generation'>): Promise<void>
}

/** Everything that the console stores. */
export interface ConsoleStore {
  readonly sessions: Sessions
  readonly refreshes: Refreshes
  readonly previews: Previews
  readonly views: SavedViews
}
