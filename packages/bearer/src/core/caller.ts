import { invalidToken } from './bearer-error.ts'
import type { JsonObject } from './strict-json.ts'

/** Who made the request, once verified. Frozen through and through: it is shared by all requests with one token. */
export interface Caller {
  /** `sub`: the user, or the client itself where `kind` is `client`. */
  readonly subject: string
  readonly kind: 'user' | 'client'
  readonly clientId: string | undefined
  readonly scopes: readonly string[]
  readonly roles: readonly string[]
  readonly plan: string | undefined
  /** `grant_id`: what a revocation names. */
  readonly grantId: string | undefined
  /** `jti` */
  readonly tokenId: string | undefined
  /** Unix milliseconds; undefined when the token does not tell. */
  readonly issuedAt: number | undefined
  /** Unix milliseconds. */
  readonly expiresAt: number
  readonly claims: JsonObject
}

/**
 * Reads claims that are known to be signed, for us, and timely (RFC 9068 §2.2; roles as in RFC 9068 §2.2.3.1).
 * A token whose subject is the client itself comes from client credentials (RFC 9068 §2.2).
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
    issuedAt: typeof issuedAt === 'number' ? issuedAt * 1000 : undefined,
    expiresAt,
    claims,
  })
}

/** The names in a space-separated scope (RFC 6749 §3.3). */
function scopeNames(scope: string | undefined): string[] {
  return scope === undefined ? [] : scope.split(' ').filter((name) => name !== '')
}

/** True when the caller holds every name of a space-separated scope. */
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
