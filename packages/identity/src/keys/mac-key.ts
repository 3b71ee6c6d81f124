import { createHmac } from 'node:crypto'
import { constantTimeEqual, KeyRing, type Secret } from '@gatehouse/kit'

/** Keys for message authentication, derived from the encryption keys for one purpose alone: the first makes, all check. */
export class MacKey {
  readonly #keys: readonly Buffer[]

  constructor(encryptionKey: Secret | KeyRing, purpose: string) {
    this.#keys = KeyRing.of(encryptionKey).derive('gatehouse mac', purpose)
  }

  /** HMAC-SHA-256 in base64url. */
  sign(text: string): string {
    return computeMac(this.#keys[0] as Buffer, text)
  }

  /** What {@link sign} answered while another of the keys was the first. */
  signWithPrevious(text: string): string[] {
    return this.#keys.slice(1).map((key) => computeMac(key, text))
  }

  /** Whether `mac` is that of `text` under one of the keys, in a time that does not tell how much of it is right. */
  verify(text: string, mac: string): boolean {
    return this.#keys.some((key) => constantTimeEqual(computeMac(key, text), mac))
  }
}

function computeMac(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url')
}
