import { createECDH, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import type { Clock } from '../model/clock.ts'

export interface VapidKeys {
  /** The public key as browsers are given it: a point of P-256, uncompressed, in base64url. */
  readonly publicKey: string
  readonly key: KeyObject
}

/** The keys that prove who pushes. Throws RangeError naming the member that can't be used. */
export function parseVapidKeys(publicKey: string, privateKey: string): VapidKeys {
  const secret = Buffer.from(privateKey, 'base64url')
  if (secret.length !== 32) throw new RangeError('private_key must be 32 bytes in base64url')
  const pair = createECDH('prime256v1')
  try {
    pair.setPrivateKey(secret)
  } catch {
    throw new RangeError('private_key is no key of P-256')
  }
  const point = pair.getPublicKey()
  if (!point.equals(Buffer.from(publicKey, 'base64url')))
    throw new RangeError('public_key does not belong to private_key')
  const [x, y, d] = [point.subarray(1, 33), point.subarray(33), secret].map((part) => part.toString('base64url'))
  const jwk = { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '', d: d ?? '' }
  return { publicKey: point.toString('base64url'), key: createPrivateKey({ key: jwk, format: 'jwk' }) }
}

/** The Authorization field for a push service. */
export type Vapid = (origin: string) => string

const lifetimeMs = 12 * 3_600_000
const renewEarlyMs = 3_600_000
const maxOrigins = 1_000

/** Tokens that say who we are to a push service (RFC 8292), each used for half a day: at most a day is allowed. */
export function createVapid({ publicKey, key }: VapidKeys, subject: string, clock: Clock): Vapid {
  const made = new Map<string, { readonly field: string; readonly renewAt: number }>()
  return (origin) => {
    const now = clock.now()
    const known = made.get(origin)
    if (known && now < known.renewAt) return known.field
    const claims = { aud: origin, exp: Math.floor((now + lifetimeMs) / 1_000), sub: subject }
    const parts = [{ typ: 'JWT', alg: 'ES256' }, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    )
    const signature = sign('sha256', Buffer.from(parts.join('.')), { key, dsaEncoding: 'ieee-p1363' })
    const field = `vapid t=${parts.join('.')}.${signature.toString('base64url')}, k=${publicKey}`
    if (made.size >= maxOrigins) made.clear()
    made.set(origin, { field, renewAt: now + lifetimeMs - renewEarlyMs })
    return field
  }
}
