import { parseBaseUrl } from '../http/address.ts'
import { type Platform, systemPlatform } from '../platform/platform.ts'
import type { Credentials } from './credentials.ts'
import type { Hooks } from './hooks.ts'
import { RetryBudget } from './retry-budget.ts'
import { maxAttemptsOfCall } from './retry-policy.ts'

/** Options of {@link connect}. */
export interface ConnectionOptions extends Partial<Platform> {
  /** Where the APIs are: https, or http on loopback; in a page it may be relative. */
  readonly baseUrl: string
  /** Left out for operations that are open to everybody, or where the server that answers adds them. */
  readonly credentials?: Credentials | undefined
  /** Header fields of every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long a call may take with all its attempts, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number
  /** How long one attempt may take, in milliseconds. Default: 10,000. */
  readonly attemptTimeoutMs?: number
  /** The most attempts of one call, at most 4. Default: 4. */
  readonly maxAttempts?: number
  readonly hooks?: Hooks
  /** Allows http to other hosts, on private networks. Default: false. */
  readonly allowInsecureHttp?: boolean
}

/** Where calls go, and what they share: the credentials, the retry budget and who waits. */
export interface ClientConnection {
  readonly platform: Platform
  readonly baseUrl: URL
  readonly credentials: Credentials | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly attemptTimeoutMs: number
  readonly maxAttempts: number
  readonly hooks: Hooks
  readonly budget: RetryBudget
  /** Calls that wait for their next attempt. */
  readonly waiting: Set<unknown>
}

/**
 * Prepares calls; opens nothing yet.
 *
 * @throws TypeError when the address would send credentials in the clear
 * @example
 * ```ts
 * const connection = connect({ baseUrl: 'https://api.example.com', credentials: apiKey(key) })
 * ```
 */
export function connect(options: ConnectionOptions): ClientConnection {
  const { fetch, clock, random } = options
  return {
    platform: {
      fetch: fetch ?? systemPlatform.fetch,
      clock: clock ?? systemPlatform.clock,
      random: random ?? systemPlatform.random,
    },
    baseUrl: parseBaseUrl('baseUrl', options.baseUrl, options.allowInsecureHttp),
    credentials: options.credentials,
    headers: options.headers ?? {},
    timeoutMs: options.timeoutMs ?? 30_000,
    attemptTimeoutMs: options.attemptTimeoutMs ?? 10_000,
    maxAttempts: Math.min(maxAttemptsOfCall, options.maxAttempts ?? maxAttemptsOfCall),
    hooks: options.hooks ?? {},
    budget: new RetryBudget(),
    waiting: new Set(),
  }
}
