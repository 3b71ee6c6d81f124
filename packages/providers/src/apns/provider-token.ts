import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import type { Clock } from '../model/clock.ts'

export interface ApnsKey {
  readonly key: KeyObject
  readonly keyId: string
  readonly teamId: string
}

/** The key of an Apple .p8 file. Throws RangeError when it is none. */
export function parseApnsKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key
  } catch {
    // said below, without the text
  }
  throw new RangeError('is no P-256 key in PEM, as the .p8 file of Apple holds one')
}

/** Apple takes a new token every 20 to 60 minutes. */
const lifetimeMs = 1_800_000
const minLifetimeMs = 1_200_000

/** The provider token that every call carries. */
export interface ApnsTokens {
  get(): string
  /** Makes a new one in place of a token that was refused. False when Apple would call it too early. */
  renew(rejected: string): boolean
}

/**
 * Provider tokens (ES256). Their time of issue is the last full half hour, so that processes which share a key change
 * it at the same moment, and a restart makes no newer token than there was.
 */
export function createApnsTokens({ key, keyId, teamId }: ApnsKey, clock: Clock): ApnsTokens {
  const make = (issuedAt: number) => ({ issuedAt, text: signToken(key, keyId, teamId, issuedAt) })
  const latest = () => Math.floor(clock.now() / lifetimeMs) * lifetimeMs
  let current = make(latest())
  let usedSince: number | undefined
  return {
    get() {
      if (latest() > current.issuedAt) {
        current = make(latest())
        usedSince = undefined
      }
      usedSince ??= clock.now()
      return current.text
    },
    renew(refused) {
      if (current.text !== refused) return true
      const now = clock.now()
      if (usedSince !== undefined && now - usedSince < minLifetimeMs) return false
      current = make(now)
      usedSince = undefined
      return true
    },
  }
}

function signToken(key: KeyObject, kid: string, iss: string, issuedAt: number): string {
  const parts = [
    { alg: 'ES256', kid },
    { iss, iat: Math.floor(issuedAt / 1_000) },
  ]
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}
