import { invalidToken } from '../core/bearer-error.ts'
import { RecentCache, type Weighted } from '../core/recent-cache.ts'
import { decodePart, parseJsonPart } from './token-part.ts'

/** A type (`typ`) that can be accepted: that of access tokens (RFC 9068 §2.1), or that of any JWT (RFC 7519 §5.1). */
export type TokenType = 'at+jwt' | 'JWT'

/** Every type that can be accepted. */
export const tokenTypes: readonly TokenType[] = ['at+jwt', 'JWT']

/** Whether a value is one of {@link tokenTypes}. */
export function isTokenType(type: unknown): type is TokenType {
  return tokenTypes.includes(type as TokenType)
}

/** The members of a token's header that select its key and tell its type. */
export interface TokenHeader {
  readonly type: TokenType
  readonly alg: string
  readonly kid: string | undefined
}

/**
 * Key material or extensions chosen by the sender. A verifier that uses them accepts whatever the sender signs
 * (RFC 8725 §3.10); `crit` names extensions that must be understood, and none is (RFC 7515 §4.1.11, RFC 7797).
 */
const forbiddenMembers = ['crit', 'b64', 'jwk', 'jku', 'x5u', 'x5c']
const maxKidLength = 256
const maxHeaders = 64

/** Parses headers. All tokens of one key have the same header, so the last ones are cached. */
export class TokenHeaders {
  readonly #known = new RecentCache<TokenHeader & Weighted>({ entries: maxHeaders, weight: maxHeaders })
  readonly #types: readonly TokenType[]

  /** @param types the accepted types */
  constructor(types: readonly TokenType[]) {
    this.#types = types
  }

  /**
   * @param part the encoded header of the token
   * @throws BearerError `invalid_token`
   */
  read(part: string): TokenHeader {
    const known = this.#known.get(part)
    if (known !== undefined) return known
    const header = { ...parseHeader(part, this.#types), weight: 1 }
    this.#known.set(part, header)
    return header
  }
}

/** By default only the type of access tokens (RFC 9068 §2.1) is accepted, which also rejects ID tokens. */
function parseHeader(part: string, types: readonly TokenType[]): TokenHeader {
  const header = parseJsonPart(decodePart(part), 'malformed')
  for (const member of forbiddenMembers) if (Object.hasOwn(header, member)) throw invalidToken('header')
  const { alg, kid, typ } = header
  if (typeof alg !== 'string') throw invalidToken('malformed')
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > maxKidLength)) throw invalidToken('malformed')
  const type = typeof typ === 'string' ? tokenTypeOf(typ) : undefined
  if (type === undefined || !types.includes(type)) throw invalidToken('type')
  return { type, alg, kid }
}

/** Media types are case-insensitive and may omit `application/` (RFC 7515 §4.1.9). */
function tokenTypeOf(typ: string): TokenType | undefined {
  const type = typ.toLowerCase().replace(/^application\//, '')
  return tokenTypes.find((known) => known.toLowerCase() === type)
}
