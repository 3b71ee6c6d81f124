import { createHmac } from 'node:crypto'
import { constantTimeEqual, KeyRing, type Secret } from '@gatehouse/kit'

/** Keys for message authentication, derived from the encryption keys for one purpose: the first signs, all verify. */
export class MacKey {
  readonly #keys: readonly Buffer[]

  constructor(encryptionKey: Secret | KeyRing, purpose: string) {
    this.#keys = KeyRing.of(encryptionKey).derive('gatehouse mac', purpose)
  }

  /** HMAC-SHA-256 in base64url. */
  sign(text: string): string {
    return computeMac(this.#keys[0] as Buffer, text)
  }

  /** The MACs of `text` under the other keys, which were the first before. */
  signWithPrevious(text: string): string[] {
    return this.#keys.slice(1).map((key) => computeMac(key, text))
  }

  /** Whether `mac` is valid for `text` under one of the keys, in constant time. */
  verify(text: string, mac: string): boolean {
    return this.#keys.some((key) => constantTimeEqual(computeMac(key, text), mac))
  }
}

function computeMac(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url')
}
