import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import type { TokenContext } from '../context/context.ts'
import { signingAlgorithms } from '../model/client.ts'

/** What an ID token says that is used as a hint. */
export interface IdTokenHint {
  readonly subject: string
  readonly clientId: string
  readonly sessionId: string | undefined
}

const maxHintLength = 8_192

/** Reads an ID token of this server that is used as a hint; it may have expired, but its signature must be valid. */
export async function readIdTokenHint(
  { issuer, keys }: Pick<TokenContext, 'issuer' | 'keys'>,
  token: string,
): Promise<IdTokenHint | undefined> {
  if (token.length > maxHintLength) return undefined
  try {
    const { payload } = await jwtVerify(
      token,
      createLocalJWKSet((await keys.findJwks(token)) as unknown as JSONWebKeySet),
      {
        algorithms: [...signingAlgorithms],
        typ: 'JWT',
        issuer,
        currentDate: new Date(0),
        clockTolerance: Number.MAX_SAFE_INTEGER,
        requiredClaims: ['sub', 'aud', 'auth_time'],
      },
    )
    const { sub, aud, sid } = payload
    return {
      subject: String(sub),
      clientId: String([aud].flat()[0]),
      sessionId: typeof sid === 'string' ? sid : undefined,
    }
  } catch {
    return undefined
  }
}
