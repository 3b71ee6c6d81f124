import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { inspect } from 'node:util'

/** A value that must not be printed: it shows as `[secret]` in strings, JSON, logs and debuggers. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The value itself; call it only where the value is used. */
  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [inspect.custom](): string {
    return '[secret]'
  }
}

/** A fresh random token in base64url; 32 bytes are 256 bits of entropy in 43 characters. */
export function randomToken(bytes: number = 32): string {
  return randomBytes(bytes).toString('base64url')
}

/** SHA-256 in base64url: how generated secrets (tokens, codes, client secrets) are stored. Not for passwords. */
export function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}

/** Whether two strings are equal, in a time that depends on neither's content; their lengths may show. */
export function constantTimeEqual(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}

const ivBytes = 12
const tagBytes = 16

function sealingKey(key: Secret, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key.reveal(), 'gatehouse', purpose, 32))
}

/** Encrypts `plain` (AES-256-GCM) under a key derived for `purpose`; only {@link unseal} with the same two reads it. */
export function seal(plain: string, key: Secret, purpose: string): string {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', sealingKey(key, purpose), iv)
  const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url')
}

/** Reads what {@link seal} wrote. Throws when the key or the purpose differ or the text was touched. */
export function unseal(sealed: string, key: Secret, purpose: string): string {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', sealingKey(key, purpose), bytes.subarray(0, ivBytes))
  decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
  return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString('utf8')
}
