import { createHmac, hkdfSync } from 'node:crypto'
import type { Secret } from '@gatehouse/kit'

/** A key for message authentication, derived from the encryption key for one purpose alone. */
export class MacKey {
  readonly #key: Buffer

  constructor(encryptionKey: Secret, purpose: string) {
    this.#key = Buffer.from(hkdfSync('sha256', encryptionKey.reveal(), 'gatehouse mac', purpose, 32))
  }

  /** HMAC-SHA-256 in base64url. */
  of(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url')
  }
}
