import { invalidToken } from './bearer-error.ts'
import type { JsonObject } from './strict-json.ts'

/** The verified caller of a request. Deeply frozen: all requests with one token share it. */
export interface Caller {
  /** `sub`: the user, or the client itself where `kind` is `client`. */
  readonly subject: string
  /** `client` when `sub` is the `client_id`: a token from client credentials (RFC 9068 §2.2). */
  readonly kind: 'user' | 'client'
  /** `client_id` (RFC 8693 §4.3). */
  readonly clientId: string | undefined
  /** The names in `scope` (RFC 8693 §4.2). */
  readonly scopes: readonly string[]
  /** `roles` (RFC 9068 §2.2.3.1); empty without the claim. */
  readonly roles: readonly string[]
  /** `plan`: the client's rate limit plan, a claim of Gatehouse. */
  readonly plan: string | undefined
  /** `grant_id`: the grant that a revocation names, a claim of Gatehouse. */
  readonly grantId: string | undefined
  /** `jti` (RFC 7519 §4.1.7). */
  readonly tokenId: string | undefined
  /** `acr`: the class of the user's sign-in (RFC 9470 §6); undefined when the token has none. */
  readonly acr: string | undefined
  /** `auth_time`: when the user signed in, in Unix milliseconds; undefined when the token has none (RFC 9470 §6). */
  readonly authTime: number | undefined
  /** `iat` in Unix milliseconds; undefined when the token has none. */
  readonly issuedAt: number | undefined
  /** `exp` in Unix milliseconds, without clock skew. */
  readonly expiresAt: number
  /** Every claim of the token, as its issuer wrote it. */
  readonly claims: JsonObject
}

/**
 * Reads the caller from claims whose signature, issuer and audience are verified (RFC 9068 §2.2).
 *
 * @throws BearerError `invalid_token` when a claim has the wrong type
 */
export function callerOf(claims: JsonObject, expiresAt: number): Caller {
  const subject = text(claims, 'sub')
  if (!subject) throw invalidToken('claims')
  const clientId = text(claims, 'client_id')
  const issuedAt = claims.iat
  if (issuedAt !== undefined && !Number.isFinite(issuedAt)) throw invalidToken('claims')
  return Object.freeze({
    subject,
    kind: subject === clientId ? 'client' : 'user',
    clientId,
    scopes: Object.freeze(scopeNames(text(claims, 'scope'))),
    roles: Object.freeze(textList(claims, 'roles')),
    plan: text(claims, 'plan'),
    grantId: text(claims, 'grant_id'),
    tokenId: text(claims, 'jti'),
    // Not required of every token, so a value of another type counts as none.
    acr: typeof claims.acr === 'string' ? claims.acr : undefined,
    authTime: typeof claims.auth_time === 'number' ? claims.auth_time * 1000 : undefined,
    issuedAt: typeof issuedAt === 'number' ? issuedAt * 1000 : undefined,
    expiresAt,
    claims,
  })
}

/** The names in a space-separated scope (RFC 6749 §3.3). */
function scopeNames(scope: string | undefined): string[] {
  return scope === undefined ? [] : scope.split(' ').filter((name) => name !== '')
}

/**
 * Whether the caller has every name of a space-separated scope (RFC 6749 §3.3).
 *
 * @example
 * ```ts
 * if (!hasScope(caller, 'write:users')) response.writeHead(403).end()
 * ```
 */
export function hasScope(caller: Caller, scope: string): boolean {
  if (!scope.includes(' ')) return scope === '' || caller.scopes.includes(scope)
  return scopeNames(scope).every((name) => caller.scopes.includes(name))
}

function text(claims: JsonObject, name: string): string | undefined {
  const value = claims[name]
  if (value === undefined || typeof value === 'string') return value
  throw invalidToken('claims')
}

function textList(claims: JsonObject, name: string): string[] {
  const value = claims[name] ?? []
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return [...value]
  throw invalidToken('claims')
}
