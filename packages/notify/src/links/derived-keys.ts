import { hkdfSync } from 'node:crypto'
import type { Secret } from '@gatehouse/kit'

/** Creates a function that derives keys of 32 bytes from secrets, one for each purpose (HKDF-SHA-256), each once. */
export function createKeyDerivation(): (secret: Secret, purpose: string) => Buffer {
  const derived = new WeakMap<Secret, Map<string, Buffer>>()
  return (secret, purpose) => {
    const known = derived.get(secret) ?? new Map<string, Buffer>()
    derived.set(secret, known)
    const key = known.get(purpose) ?? Buffer.from(hkdfSync('sha256', secret.reveal(), 'gatehouse links', purpose, 32))
    known.set(purpose, key)
    return key
  }
}
