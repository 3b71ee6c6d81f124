import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from 'jose'
import type { TokenContext } from '../context/context.ts'
import { readKid } from '../keys/read-kid.ts'
import { signingAlgorithms } from '../model/client.ts'
import { OAuthError } from './error.ts'

/** What an ID token says that is used as a hint. */
export interface IdTokenHint {
  readonly subject: string
  readonly clientId: string
  readonly sessionId: string | undefined
}

type HintContext = Pick<TokenContext, 'issuer' | 'keys' | 'store' | 'clock'>

const maxHintLength = 8_192

/**
 * Reads an ID token of this server that is used as a hint. It may have expired, and its key may have been retired since;
 * its signature must be valid. Undefined when its key is not known any more, because it was compromised or retired before
 * any session began: the token then proves nothing, but its client did nothing wrong.
 * @throws OAuthError `invalid_request` for anything else
 */
export async function readIdTokenHint(context: HintContext, token: string): Promise<IdTokenHint | undefined> {
  if (token.length > maxHintLength) throw notOurs()
  const keys = await findKeys(context, token)
  if (keys === undefined) return undefined
  try {
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys), {
      algorithms: [...signingAlgorithms],
      typ: 'JWT',
      issuer: context.issuer,
      currentDate: new Date(0),
      clockTolerance: Number.MAX_SAFE_INTEGER,
      requiredClaims: ['sub', 'aud', 'auth_time'],
    })
    const { sub, aud, sid } = payload
    return {
      subject: String(sub),
      clientId: String([aud].flat()[0]),
      sessionId: typeof sid === 'string' ? sid : undefined,
    }
  } catch {
    throw notOurs()
  }
}

/** The JWK Set to verify the token with; undefined when it names this issuer, and a key that is not known any more. */
async function findKeys(
  { issuer, keys, store, clock }: HintContext,
  token: string,
): Promise<JSONWebKeySet | undefined> {
  const published = await keys.findJwks(token)
  const kid = readKid(token)
  if (kid === undefined || published.keys.some((key) => key.kid === kid)) return published as unknown as JSONWebKeySet
  const retired = keys.isCompromised(kid) ? undefined : await store.retiredKeys.find(kid, clock.now())
  if (retired !== undefined) return { keys: [{ ...retired.publicJwk, kid, alg: retired.alg }] } as JSONWebKeySet
  return readIssuer(token) === issuer ? undefined : { keys: [] }
}

function readIssuer(token: string): unknown {
  try {
    return decodeJwt(token).iss
  } catch {
    return undefined
  }
}

function notOurs(): OAuthError {
  return new OAuthError('invalid_request', 'id_token_hint must be an ID token issued by this server')
}
