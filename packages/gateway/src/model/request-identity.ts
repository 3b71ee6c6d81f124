import type { Identifier } from '@gatehouse/limiter'
import type { Caller } from './caller.ts'

/** What a request counts by and who its caller is, before anything is decided. */
export interface RequestIdentity {
  /** What the request counts by: the user, else the client, else the API key, else the IP address. */
  readonly identifier: Identifier
  /** The caller; undefined without a valid credential. */
  readonly caller?: Caller
  /** Why the credential was refused. Thrown where one is required. */
  readonly refusal?: unknown
}
