import { type AuthenticationRules, gatehouseAcrOrder, isAcrValue } from './core/authentication-requirement.ts'
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

/** The revocations that are checked at every use of a token. */
export interface RevocationList {
  /**
   * Whether this caller's token is revoked.
   *
   * @param keyId the `kid` of the key that signed it; undefined for an opaque token, or a key without one
   */
  covers(caller: Caller, keyId?: string): boolean
  /** How many keys are revoked so far. When it grows, tokens of a new key are expected, and it is fetched. */
  readonly revokedKeys?: number
}

/** Options of `createBearer`. Only `issuer` and `audience` are required. */
export interface BearerOptions {
  /** The exact value of `iss` (RFC 9068 §4). */
  readonly issuer: string
  /** The identifier of this resource server, or several: `aud` must contain one (RFC 9068 §4). */
  readonly audience: string | readonly string[]
  /** The issuer's public keys, or a function that returns them, where the issuer runs in the same process. */
  readonly keys?: readonly Jwk[] | (() => readonly Jwk[] | Promise<readonly Jwk[]>)
  /**
   * URL of the issuer's JWK Set (RFC 7517 §5); https, or http on loopback. Default: found in the issuer's metadata
   * (RFC 8414, OpenID Connect Discovery). Excludes `keys`.
   */
  readonly jwksUri?: string
  /** Allows http to other hosts, on private networks. Default: false. */
  readonly allowInsecureHttp?: boolean
  /**
   * Accepted signature algorithms. A key is used only with the algorithm that it names or that its type implies.
   * Default: ES256, RS256, PS256, and Ed25519 by both of its names.
   */
  readonly algorithms?: readonly AlgorithmName[]
  /**
   * Accepted types (`typ`) of access tokens. Add `'JWT'` for an issuer from before RFC 9068, and only where no client
   * can get an ID token with your audience. Default: `['at+jwt']` (RFC 9068 §2.1).
   */
  readonly tokenTypes?: readonly TokenType[]
  /** Tolerated difference of clocks, 0 to 60 seconds. Default: 30. */
  readonly clockSkewSeconds?: number
  /**
   * The issuer's classes of sign-in (`acr`) from the weakest to the strongest, for `requireAcr`. Default:
   * {@link gatehouseAcrOrder}.
   */
  readonly acrOrder?: readonly string[]
  /** How long keys are used while the issuer cannot be reached, in seconds, up to 30 days. Default: 86400. */
  readonly staleKeysForSeconds?: number
  /** Maximum of cached tokens, at least 2. Default: 10000. */
  readonly cacheEntries?: number
  /** Revoked tokens, checked at every use; see `createRevocations`. Default: none. */
  readonly revocations?: RevocationList
  /** Verifies opaque tokens; see `createIntrospection`. Default: opaque tokens are refused. */
  readonly introspection?: Introspection
  /** Default: the system clock. */
  readonly clock?: Clock
  /** Callbacks for metrics and alerts. */
  readonly observer?: BearerObserver
  /** Replaces the global `fetch`, for example to use a proxy or own certificates. */
  readonly fetch?: typeof globalThis.fetch
}

/** Validated options with their defaults. */
export interface Settings {
  readonly expected: ExpectedClaims
  readonly signIns: AuthenticationRules
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
/** The weight of a cached token is its length in characters. */
const cacheWeight = 16 * 1024 * 1024

/** Validates the options and fills in defaults. @throws TypeError naming the invalid option and what was expected */
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
    signIns: { acrOrder: acrOrderOf(options.acrOrder), clockSkewMs },
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
  if (keys !== undefined && jwksUri !== undefined) throw new TypeError('keys and jwksUri exclude each other')
  if (keys !== undefined) return inProcessKeys(typeof keys === 'function' ? keys : () => keys)
  const exchange = options.fetch === undefined ? defaultFetchOptions : { ...defaultFetchOptions, fetch: options.fetch }
  if (jwksUri === undefined) return remoteKeys(createJwksUriDiscovery(issuer, allowInsecureHttp, exchange), exchange)
  const url = endpointUrl('jwksUri', jwksUri, allowInsecureHttp)
  return remoteKeys(async () => url, exchange)
}

function audiencesOf(audience: string | readonly string[]): readonly string[] {
  const audiences = typeof audience === 'string' ? [audience] : [...audience]
  if (audiences.length === 0) throw new TypeError('audience must not be an empty list')
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

function acrOrderOf(order: readonly string[] = gatehouseAcrOrder): readonly string[] {
  if (!order.every(isAcrValue) || new Set(order).size < order.length) {
    throw new TypeError('acrOrder must be a list of distinct acr values: printable ASCII without spaces, " and \\')
  }
  return [...order]
}

function name(option: string, value: string): string {
  if (typeof value !== 'string' || value === '') throw new TypeError(`${option} must be a non-empty string`)
  return value
}

function seconds(option: string, value: number | undefined, fallback: number, max: number): number {
  const result = value ?? fallback
  if (!(result >= 0 && result <= max)) throw new TypeError(`${option} must be a number of seconds from 0 to ${max}`)
  return result
}
