import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { inspect } from 'node:util'

/**
 * A value that must not be printed. It shows as `[secret]` in strings, JSON, logs and debuggers.
 *
 * @example
 * const password = new Secret(process.env.PASSWORD ?? '')
 * connect({ password: password.reveal() })
 */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** Returns the value. Call it only where the value is used. */
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

/** Generates a random token in base64url; 32 bytes are 256 bits of entropy in 43 characters. */
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
