import { type KeyObject, sign } from 'node:crypto'
import type { Misbehaviour } from './misbehaviour.ts'

/** What an ID token is made from. */
export interface IdTokenFacts {
  readonly issuer: string
  readonly audience: string
  readonly nonce: string
  readonly authTime: number | undefined
  readonly claims: Readonly<Record<string, unknown>>
  readonly keys: { readonly privateKey: KeyObject; readonly other: KeyObject }
  readonly misbehaviour: Misbehaviour | undefined
}

/** An ID token (OpenID Connect Core §2), with the one fault that the misbehaviour names. */
export function createIdToken({ issuer, audience, nonce, authTime, claims, keys, misbehaviour }: IdTokenFacts): string {
  const now = Math.floor(Date.now() / 1000)
  const is = (one: Misbehaviour) => misbehaviour === one
  const payload = {
    iss: is('wrong_iss') ? 'https://other.example' : issuer,
    aud: is('wrong_aud') ? 'another-client' : audience,
    iat: is('expired') ? now - 7_200 : now,
    exp: is('expired') ? now - 3_600 : now + 300,
    ...(is('no_nonce') ? {} : { nonce: is('wrong_nonce') ? 'another-nonce' : nonce }),
    ...(authTime === undefined || is('no_auth_time') ? {} : { auth_time: authTime }),
    ...(is('wrong_azp') ? { azp: 'another-client' } : {}),
    ...claims,
  }
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const header = { typ: 'JWT', alg: is('alg_none') ? 'none' : 'RS256', kid: 'k1' }
  const signed = `${encode(header)}.${encode(payload)}`
  if (is('unsigned') || is('alg_none')) return `${signed}.`
  const signature = sign('sha256', Buffer.from(signed), is('wrong_key') ? keys.other : keys.privateKey)
  return `${signed}.${signature.toString('base64url')}`
}
