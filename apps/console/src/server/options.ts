import type { Clock, KeyRing, Log, Secret } from '@gatehouse/kit'
import type { LiveRules } from './live/rules.ts'
import type { ConsoleStore } from './session/store.ts'
import type { LimitSignIn } from './sign-in/limits.ts'

/** A service whose API the console shows. */
export type ApiService = 'identity' | 'notify' | 'gateway'

/** What {@link createConsole} is built from. */
export interface ConsoleOptions {
  /** The origin that browsers reach the console at, without a path. */
  readonly publicUrl: string
  /** The issuer, as its tokens name it and browsers reach it. */
  readonly issuer: string
  /** The public address of the APIs, for the snippets that the pages show. */
  readonly apiUrl: string
  /** The console's own registration at the issuer. */
  readonly client: { readonly id: string; readonly secret: Secret }
  /** The addresses of the services, as this process reaches them. Services that are not there are left out. */
  readonly services: Readonly<Partial<Record<ApiService, string>>> & { readonly identity: string }
  /** Seals tokens and the cookie of a sign-in that is under way. */
  readonly encryptionKey: KeyRing
  readonly store: ConsoleStore
  /** Bounds the sign-ins that anybody may begin. Default: nothing is limited. The policies are `signInLimitPolicies`. */
  readonly limit?: LimitSignIn
  /** What bounds the live channel; left out for the defaults. */
  readonly live?: LiveRules
  readonly clock: Clock
  readonly log: Log
}
