import type { Clock, Log } from '@gatehouse/kit'
import type { ClientDirectory } from './client-directory.ts'
import type { ResourceDeclaration } from './declarations.ts'
import type { SigningKeys } from './keys/signing-keys.ts'
import type { Lifetimes } from './lifetimes.ts'
import type { Passwords } from './passwords.ts'
import type { IdentityStore } from './store.ts'

/** What the endpoints are made of; each takes what it needs. */
export interface Parts {
  /** The authorization server's address and the claim iss; no slash at its end. */
  readonly issuer: string
  readonly baseUrl: string
  /** The audience of tokens for which no resource was asked. */
  readonly apiIdentifier: string
  readonly resources: ReadonlyMap<string, ResourceDeclaration>
  readonly lifetimes: Lifetimes
  readonly defaultPlan: string
  readonly store: IdentityStore
  readonly clients: ClientDirectory
  readonly keys: SigningKeys
  readonly passwords: Passwords
  readonly clock: Clock
  readonly log: Log
}
