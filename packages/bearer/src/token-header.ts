import { invalidToken } from './bearer-error.ts'
import { RecentCache, type Weighed } from './cache.ts'
import { decodePart, parseJson } from './token-part.ts'

/** What of a token's header is needed to choose a key. */
export interface TokenHeader {
  readonly alg: string
  readonly kid: string | undefined
}

/**
 * Key material or extensions chosen by the sender. A verifier that follows them verifies whatever the sender likes
 * (RFC 8725 §3.10); `crit` names extensions that must be understood, and none is (RFC 7515 §4.1.11, RFC 7797).
 */
const refusedMembers = ['crit', 'b64', 'jwk', 'jku', 'x5u', 'x5c']
const longestKid = 256
const remembered = 64

/** Reads headers. All tokens of one key have the same header to the letter, so the last ones read are remembered. */
export class TokenHeaders {
  readonly #known = new RecentCache<TokenHeader & Weighed>({ entries: remembered, weight: remembered })

  /**
   * @param part the header as it stands in the token, encoded
   * @throws BearerError `invalid_token`
   */
  read(part: string): TokenHeader {
    const known = this.#known.get(part)
    if (known !== undefined) return known
    const header = { ...parseHeader(part), weight: 1 }
    this.#known.set(part, header)
    return header
  }
}

/** The type must be that of an access token (RFC 9068 §2.1), which also keeps ID tokens out. */
function parseHeader(part: string): TokenHeader {
  const header = parseJson(decodePart(part), 'malformed')
  for (const member of refusedMembers) if (Object.hasOwn(header, member)) throw invalidToken('header')
  const { alg, kid, typ } = header
  if (typeof alg !== 'string') throw invalidToken('malformed')
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > longestKid)) throw invalidToken('malformed')
  if (typeof typ !== 'string' || !isAccessTokenType(typ)) throw invalidToken('type')
  return { alg, kid }
}

function isAccessTokenType(typ: string): boolean {
  const type = typ.toLowerCase()
  return type === 'at+jwt' || type === 'application/at+jwt'
}
