import type { Client, ClientMetadata } from '../model/client.ts'
import type { RevocationTimes } from '../model/revocation-times.ts'

export interface NewClient {
  readonly id: string
  readonly plan: string | undefined
  readonly metadata: ClientMetadata
  /** Undefined leaves the secrets of a client that exists as they are … */
  readonly secretHashes: readonly string[] | undefined
  /** … and one that doesn't exist yet begins with this. */
  readonly firstSecretHash?: string
}

/** A client as it was read: what a change of it began with. */
export type ExpectedClient = Pick<NewClient, 'plan' | 'metadata'>

export interface Clients {
  find(id: string): Promise<Client | undefined>
  list(after: string, limit: number): Promise<Client[]>
  /** @throws NameTaken */
  create(client: NewClient, now: number): Promise<void>
  /** Changes a client whose registration and plan are still the ones `expected`. */
  update(client: NewClient, expected: ExpectedClient, now: number): Promise<'changed' | 'missing' | 'outdated'>
  /**
   * Ends the client and everything under it, and tells the revocation feed. `forgottenAt`: until then another process may
   * still remember the client and issue tokens to it.
   */
  remove(id: string, forgottenAt: number, end: RevocationTimes): Promise<boolean>
}

export interface ReplayCache {
  /** True for the first caller who names it. */
  add(purpose: string, hash: string, expiresAt: number): Promise<boolean>
}
