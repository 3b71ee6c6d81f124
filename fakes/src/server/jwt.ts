import { type KeyObject, verify } from 'node:crypto'

export interface Jwt {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

/** A JWT whose signature (RS256 or ES256, as asked) is by the key; undefined for any other. */
export function readJwt(token: string, alg: 'RS256' | 'ES256', key: KeyObject): Jwt | undefined {
  const [header = '', claims = '', signature = '', ...rest] = token.split('.')
  if (rest.length > 0) return undefined
  const options = alg === 'ES256' ? { key, dsaEncoding: 'ieee-p1363' as const } : key
  try {
    if (!verify('sha256', Buffer.from(`${header}.${claims}`), options, Buffer.from(signature, 'base64url')))
      return undefined
    const jwt = { header: part(header), claims: part(claims) }
    return jwt.header.alg === alg ? jwt : undefined
  } catch {
    return undefined
  }
}

function part(text: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
}
