import { encodeBase64, encodeBase64Url } from '../http/base64.ts'
import { randomId } from '../http/random-id.ts'
import type { Platform } from '../platform/platform.ts'

/** A client and what proves that it is this client. */
export interface ClientIdentity {
  readonly clientId: string
  /** Sent as HTTP Basic (RFC 6749 §2.3.1), unless `secretInBody`. */
  readonly clientSecret?: string
  /** Sends the secret in the body, for clients that are registered so. Default: false. */
  readonly secretInBody?: boolean
  /** Signs an assertion instead of sending a secret: `private_key_jwt` (RFC 7523). */
  readonly privateKey?: ClientKey
}

/** The private key of a client. */
export interface ClientKey {
  /** A JSON Web Key, or a key of WebCrypto that may sign. */
  readonly key: JsonWebKey | CryptoKey
  /** The id of the key in the key set that the client registered. */
  readonly keyId?: string
  /** Default: ES256. */
  readonly algorithm?: keyof typeof algorithms
}

const algorithms = {
  ES256: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  PS256: { name: 'RSA-PSS', hash: 'SHA-256', saltLength: 32 },
  EdDSA: { name: 'Ed25519' },
} as const

const assertionLifeSeconds = 60

/** The header fields and form fields that authenticate a client at the token endpoint of an issuer. */
export async function clientAuthentication(
  { clientId, clientSecret, secretInBody, privateKey }: ClientIdentity,
  issuer: string,
  platform: Platform,
): Promise<{ readonly headers: Record<string, string>; readonly fields: Record<string, string> }> {
  if (privateKey !== undefined) {
    const client_assertion = await signAssertion(privateKey, { clientId, issuer, now: platform.clock.now() })
    const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
    return { headers: {}, fields: { client_id: clientId, client_assertion_type, client_assertion } }
  }
  if (clientSecret === undefined) return { headers: {}, fields: { client_id: clientId } }
  if (secretInBody) return { headers: {}, fields: { client_id: clientId, client_secret: clientSecret } }
  const pair = [clientId, clientSecret].map(encodeFormValue).join(':')
  return { headers: { authorization: `Basic ${encodeBase64(new TextEncoder().encode(pair))}` }, fields: {} }
}

interface Assertion {
  readonly clientId: string
  readonly issuer: string
  /** Unix milliseconds. */
  readonly now: number
}

/** An assertion for one use, with the issuer as its audience (RFC 7523 §3). */
async function signAssertion(privateKey: ClientKey, { clientId, issuer, now }: Assertion): Promise<string> {
  const { key, keyId, algorithm = 'ES256' } = privateKey
  const parameters = algorithms[algorithm]
  const iat = Math.floor(now / 1_000)
  const header = { alg: algorithm, typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) }
  const jti = randomId()
  const claims = { iss: clientId, sub: clientId, aud: issuer, jti, iat, exp: iat + assertionLifeSeconds }
  const signed = [header, claims]
    .map((part) => encodeBase64Url(new TextEncoder().encode(JSON.stringify(part))))
    .join('.')
  const signer = 'type' in key ? (key as CryptoKey) : await importKey(key as JsonWebKey, parameters)
  const signature = await crypto.subtle.sign(parameters, signer, new TextEncoder().encode(signed))
  return `${signed}.${encodeBase64Url(new Uint8Array(signature))}`
}

function importKey(key: JsonWebKey, parameters: (typeof algorithms)[keyof typeof algorithms]): Promise<CryptoKey> {
  return crypto.subtle.importKey('jwk', { ...key, key_ops: ['sign'] }, parameters, false, ['sign'])
}

/** As `application/x-www-form-urlencoded` writes a value (RFC 6749 appendix B). */
const encodeFormValue = (value: string) => new URLSearchParams([['', value]]).toString().slice(1)
