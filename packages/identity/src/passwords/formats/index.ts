import { argon2Format } from './argon2.ts'
import { bcryptFormat } from './bcrypt.ts'
import type { HashFormat, ParsedHash } from './format.ts'
import { pbkdf2Format } from './pbkdf2.ts'
import { scryptFormat } from './scrypt.ts'

const formats: readonly HashFormat[] = [argon2Format, bcryptFormat, pbkdf2Format, scryptFormat]

/**
 * Reads a stored hash of any known scheme. What would cost too much to compare is refused, so that no imported row can
 * occupy the hasher for long.
 */
export function parseHash(text: string): ParsedHash {
  for (const format of formats) {
    const parsed = format(text)
    if (parsed) return parsed
  }
  return { fault: 'the hash must be argon2, bcrypt, PBKDF2 or scrypt, in the notation of a PHC string' }
}
