import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { Clock } from '../model/clock.ts'
import { signJwt } from '../signature/sign-jwt.ts'

/** A signing key of an Apple developer account. */
export interface ApnsKey {
  readonly key: KeyObject
  readonly keyId: string
  readonly teamId: string
}

/**
 * Parses an Apple .p8 key.
 * @throws RangeError if it is not a P-256 key in PEM
 */
export function parseApnsKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key
  } catch {
    // the error is thrown below, without the text
  }
  throw new RangeError('is not a P-256 key in PEM, as in the .p8 file of Apple')
}

/** Apple requires a new token after 20 to 60 minutes. */
const lifetimeMs = 1_800_000
const minLifetimeMs = 1_200_000

/** The provider token of every request. */
export interface ApnsTokens {
  /** The current token. */
  get(): string
  /** Replaces a token that was rejected. False if that is too early for Apple, which limits new tokens. */
  renew(rejected: string): boolean
}

/**
 * Creates a source of provider tokens (ES256). The time of issue is the last full half hour, so that all processes with
 * the same key use identical tokens, also after a restart.
 */
export function createApnsTokens(key: ApnsKey, clock: Clock): ApnsTokens {
  const make = (issuedAt: number) => ({ issuedAt, text: signToken(key, issuedAt) })
  const latest = () => Math.floor(clock.now() / lifetimeMs) * lifetimeMs
  let current = make(latest())
  let usedSince: number | undefined
  return {
    get() {
      // One from the future was made by a clock that was set back since: Apple rejects it.
      if (latest() > current.issuedAt || current.issuedAt > clock.now()) {
        current = make(latest())
        usedSince = undefined
      }
      usedSince ??= clock.now()
      return current.text
    },
    renew(refused) {
      if (current.text !== refused) return true
      const now = clock.now()
      if (usedSince !== undefined && usedSince <= now && now - usedSince < minLifetimeMs) return false
      current = make(now)
      usedSince = undefined
      return true
    },
  }
}

function signToken({ key, keyId, teamId }: ApnsKey, issuedAt: number): string {
  return signJwt({ alg: 'ES256', kid: keyId }, { iss: teamId, iat: Math.floor(issuedAt / 1_000) }, key)
}
