import { type KeyObject, verify } from 'node:crypto'

/**
 * Whether a signature was made with the private key that belongs to `key`. It is computed on the thread pool, so that a
 * flood of forged requests does not block the event loop. Malformed signatures are invalid.
 */
export function verifySignature(
  key: KeyObject,
  algorithm: string,
  signed: Buffer,
  signature: Buffer,
): Promise<boolean> {
  return new Promise((resolve) => {
    try {
      verify(algorithm, signed, key, signature, (error, isValid) => resolve(!error && isValid))
    } catch {
      resolve(false)
    }
  })
}
