import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto'
import type { Clock } from '../model/clock.ts'
import { signJwt } from '../signature/sign-jwt.ts'

/** A VAPID key pair (RFC 8292 §3.2). */
export interface VapidKeys {
  /** The application server key of browsers: an uncompressed P-256 point in base64url. */
  readonly publicKey: string
  readonly key: KeyObject
}

/**
 * Parses a VAPID key pair.
 * @throws RangeError naming the option that is invalid
 */
export function parseVapidKeys(publicKey: string, privateKey: string): VapidKeys {
  const secret = Buffer.from(privateKey, 'base64url')
  if (secret.length !== 32) throw new RangeError('private_key must be 32 bytes in base64url')
  const pair = createECDH('prime256v1')
  try {
    pair.setPrivateKey(secret)
  } catch {
    throw new RangeError('private_key is not a P-256 key')
  }
  const point = pair.getPublicKey()
  if (!point.equals(Buffer.from(publicKey, 'base64url')))
    throw new RangeError('public_key does not belong to private_key')
  const [x, y, d] = [point.subarray(1, 33), point.subarray(33), secret].map((part) => part.toString('base64url'))
  const jwk = { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '', d: d ?? '' }
  return { publicKey: point.toString('base64url'), key: createPrivateKey({ key: jwk, format: 'jwk' }) }
}

/** Returns the Authorization field for the push service at an origin. */
export type Vapid = (origin: string) => string

const lifetimeMs = 12 * 3_600_000
const usedForMs = lifetimeMs - 3_600_000
const maxOrigins = 1_000

/** Creates VAPID tokens (RFC 8292 §2), each used for half a day. The maximum is a day. */
export function createVapid({ publicKey, key }: VapidKeys, subject: string, clock: Clock): Vapid {
  const fields = new Map<string, { readonly field: string; readonly renewAt: number }>()
  return (origin) => {
    const now = clock.now()
    const known = fields.get(origin)
    // One that is to be used for longer was made by a clock that was set back since.
    if (known && now < known.renewAt && known.renewAt - now <= usedForMs) return known.field
    const claims = { aud: origin, exp: Math.floor((now + lifetimeMs) / 1_000), sub: subject }
    const token = signJwt({ typ: 'JWT', alg: 'ES256' }, claims, key)
    const field = `vapid t=${token}, k=${publicKey}`
    if (fields.size >= maxOrigins) fields.clear()
    fields.set(origin, { field, renewAt: now + usedForMs })
    return field
  }
}
