import { constants, sign } from 'node:crypto'
import type { SigningKey } from './signing-keys.ts'

/** What kind of JWT it is, so that one is never taken for another (RFC 8725 §3.11). */
export type JwtType = 'at+jwt' | 'JWT' | 'logout+jwt' | 'token-introspection+jwt'

const headers = new Map<string, string>()

/**
 * Signs `claims` as a compact JWT (RFC 7519). ES256 takes some 30 µs and is done at once; RS256 takes twenty times
 * that and leaves the main thread.
 */
export async function signJwt(key: SigningKey, type: JwtType, claims: object): Promise<string> {
  const input = `${headerOf(key, type)}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
  const signature = key.alg === 'ES256' ? signEs256(key, input) : await signRs256(key, input)
  return `${input}.${signature.toString('base64url')}`
}

function headerOf({ kid, alg }: SigningKey, typ: JwtType): string {
  const name = `${kid} ${typ}`
  const known = headers.get(name)
  if (known !== undefined) return known
  if (headers.size > 100) headers.clear()
  const header = Buffer.from(JSON.stringify({ alg, typ, kid })).toString('base64url')
  headers.set(name, header)
  return header
}

function signEs256({ privateKey }: SigningKey, input: string): Buffer {
  return sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
}

function signRs256({ privateKey }: SigningKey, input: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const padded = { key: privateKey, padding: constants.RSA_PKCS1_PADDING }
    sign('sha256', Buffer.from(input), padded, (error, signature) => (error ? reject(error) : resolve(signature)))
  })
}
