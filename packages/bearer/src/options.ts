import type { Caller } from './core/caller.ts'
import { type Clock, systemClock } from './core/clock.ts'
import type { BearerObserver } from './core/observer.ts'
import { defaultFetchOptions, endpointUrl } from './http/fetch-json.ts'
import type { Introspection } from './introspection/introspection.ts'
import { type AlgorithmName, algorithmNames, defaultAlgorithms, isAlgorithmName } from './keys/algorithms.ts'
import { createJwksUriDiscovery } from './keys/discovery.ts'
import type { IssuerKeysOptions } from './keys/issuer-keys.ts'
import type { Jwk } from './keys/key-set.ts'
import { inProcessKeys, type KeySource } from './keys/key-source.ts'
import { remoteKeys } from './keys/remote-keys.ts'
import type { ExpectedClaims } from './token/claims.ts'
import { isTokenType, type TokenType, tokenTypes } from './token/token-header.ts'

/** Looked at on every use of a token. */
export interface RevocationList {
  /**
   * True when this caller's token was revoked.
   *
   * @param keyId the `kid` of the key that signed it; undefined for an opaque token, or a key without one
   */
  covers(caller: Caller, keyId?: string): boolean
  /** How many keys were revoked so far. When it grows, tokens of a new key are about to come, and it is looked for. */
  readonly revokedKeys?: number
}

export interface BearerOptions {
  /** `iss` must be exactly this. */
  readonly issuer: string
  /** `aud` must name this, or one of these. */
  readonly audience: string | readonly string[]
  /** The issuer's public keys, from the same process. */
  readonly keys?: readonly Jwk[] | (() => readonly Jwk[] | Promise<readonly Jwk[]>)
  /** Address of the issuer's JWK Set; https, or http on loopback. Without it and `keys` the issuer's metadata tells. */
  readonly jwksUri?: string
  /** Allows http to other machines, for networks that are private by other means. */
  readonly allowInsecureHttp?: boolean
  /**
   * Default ES256, RS256, PS256, and Ed25519 by either of its names. A key serves only the algorithm it names or its type
   * implies.
   */
  readonly algorithms?: readonly AlgorithmName[]
  /**
   * Which `typ` an access token may have; default `['at+jwt']` (RFC 9068). Add `'JWT'` for an issuer that knows no other
   * type, and only where no client can get an ID token whose audience is yours.
   */
  readonly tokenTypes?: readonly TokenType[]
  /** How far clocks may differ, 0 to 60, default 30. */
  readonly clockSkewSeconds?: number
  /** How long keys stay in use while the issuer cannot be reached; default 86400. */
  readonly staleKeysForSeconds?: number
  /** Most tokens remembered; default 10000. */
  readonly cacheEntries?: number
  readonly revocations?: RevocationList
  /** For opaque tokens; without it they are refused. */
  readonly introspection?: Introspection
  readonly clock?: Clock
  readonly observer?: BearerObserver
  /** Instead of the global `fetch`, for proxies and certificates of one's own. */
  readonly fetch?: typeof globalThis.fetch
}

/** Options, checked and completed. */
export interface Settings {
  readonly expected: ExpectedClaims
  readonly tokenTypes: readonly TokenType[]
  readonly keys: IssuerKeysOptions
  readonly cache: { readonly entries: number; readonly weight: number }
  readonly revocations: RevocationList | undefined
  readonly introspection: Introspection | undefined
  readonly clock: Clock
  readonly observer: BearerObserver
}

const defaultSkewSeconds = 30
const maxSkewSeconds = 60
const defaultStaleSeconds = 86_400
const defaultCacheEntries = 10_000
/** Weight of a remembered token is its length in characters. */
const cacheWeight = 16 * 1024 * 1024

/** @throws TypeError naming the option that is wrong and what was expected */
export function settingsOf(options: BearerOptions): Settings {
  const clock = options.clock ?? systemClock
  const observer = options.observer ?? {}
  const clockSkewMs = seconds('clockSkewSeconds', options.clockSkewSeconds, defaultSkewSeconds, maxSkewSeconds) * 1000
  const staleForMs =
    seconds('staleKeysForSeconds', options.staleKeysForSeconds, defaultStaleSeconds, 30 * 86_400) * 1000
  const entries = options.cacheEntries ?? defaultCacheEntries
  if (!Number.isInteger(entries) || entries < 2)
    throw new TypeError('cacheEntries must be a whole number of at least 2')
  return {
    expected: { issuer: name('issuer', options.issuer), audiences: audiencesOf(options.audience), clockSkewMs },
    keys: { source: keySource(options), algorithms: algorithmsOf(options.algorithms), clock, observer, staleForMs },
    tokenTypes: typesOf(options.tokenTypes),
    cache: { entries, weight: cacheWeight },
    revocations: options.revocations,
    introspection: options.introspection,
    clock,
    observer,
  }
}

function keySource(options: BearerOptions): KeySource {
  const { issuer, keys, jwksUri, allowInsecureHttp = false } = options
  if (keys !== undefined && jwksUri !== undefined) throw new TypeError('keys or jwksUri must be given, not both')
  if (keys !== undefined) return inProcessKeys(typeof keys === 'function' ? keys : () => keys)
  const exchange = options.fetch === undefined ? defaultFetchOptions : { ...defaultFetchOptions, fetch: options.fetch }
  if (jwksUri === undefined) return remoteKeys(createJwksUriDiscovery(issuer, allowInsecureHttp, exchange), exchange)
  const url = endpointUrl('jwksUri', jwksUri, allowInsecureHttp)
  return remoteKeys(async () => url, exchange)
}

function audiencesOf(audience: string | readonly string[]): readonly string[] {
  const audiences = typeof audience === 'string' ? [audience] : [...audience]
  if (audiences.length === 0) throw new TypeError('audience must name at least one audience')
  return audiences.map((one) => name('audience', one))
}

function algorithmsOf(algorithms: readonly AlgorithmName[] = defaultAlgorithms): readonly AlgorithmName[] {
  if (algorithms.length === 0 || !algorithms.every(isAlgorithmName)) {
    throw new TypeError(`algorithms must be some of ${algorithmNames.join(', ')}`)
  }
  return [...algorithms]
}

function typesOf(types: readonly TokenType[] = ['at+jwt']): readonly TokenType[] {
  if (types.length === 0 || !types.every(isTokenType)) {
    throw new TypeError(`tokenTypes must be some of ${tokenTypes.join(', ')}`)
  }
  return [...types]
}

function name(option: string, value: string): string {
  if (typeof value !== 'string' || value === '') throw new TypeError(`${option} must be a string that is not empty`)
  return value
}

function seconds(option: string, value: number | undefined, fallback: number, max: number): number {
  const result = value ?? fallback
  if (!(result >= 0 && result <= max)) throw new TypeError(`${option} must be a number of seconds from 0 to ${max}`)
  return result
}
