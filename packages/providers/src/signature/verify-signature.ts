import { type KeyObject, verify } from 'node:crypto'

/**
 * Whether a signature is by a key. It is reckoned on the thread pool: a flood of forged ones must not hold up whatever
 * else this process does. What is no signature at all is not by the key.
 */
export function isSignedBy(key: KeyObject, algorithm: string, signed: Buffer, signature: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    try {
      verify(algorithm, signed, key, signature, (error, isValid) => resolve(!error && isValid))
    } catch {
      resolve(false)
    }
  })
}
