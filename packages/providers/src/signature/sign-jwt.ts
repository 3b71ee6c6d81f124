import { type KeyObject, sign } from 'node:crypto'

/** A JWT in compact form (RFC 7519), signed with SHA-256 by an RSA or P-256 key: `alg` RS256 or ES256 (RFC 7518 §3). */
export function signJwt(header: object, claims: object, key: KeyObject): string {
  const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}
