import type { Identifier } from '@gatehouse/limiter'
import type { Caller } from './caller.ts'

/** What the gateway found out about a request before anything is decided. */
export interface RequestIdentity {
  /** Who is counted: the user, else the client, else the API key, else the IP address. */
  readonly identifier: Identifier
  readonly caller?: Caller
  /** Why the credential it showed is no good: thrown where one is needed. */
  readonly refusal?: unknown
}
