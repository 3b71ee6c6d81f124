import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { KeyRing, sealingKeyId } from './key-ring.ts'
import type { Secret } from './secret.ts'

const ivBytes = 12
const tagBytes = 16

/** Something was sealed with a key that is not in the ring. */
export class UnknownKeyError extends Error {
  override readonly name = 'UnknownKeyError'
  /** The id of the key that is missing; undefined when the text names none. */
  readonly keyId: string | undefined

  constructor(keyId: string | undefined) {
    super(keyId === undefined ? 'it names no key' : `the key ${keyId} is missing`)
    this.keyId = keyId
  }
}

/**
 * Encrypts `plain` (AES-256-GCM) under a key derived for `purpose`; only {@link unseal} with the same two reads it. A
 * purpose that names the row it is for keeps sealed values from being swapped between rows. What a {@link KeyRing} seals
 * begins with the id of its key, which is authenticated too.
 */
export function seal(plain: string, key: Secret | KeyRing, purpose: string): string {
  if (!(key instanceof KeyRing)) return encrypt(plain, key, purpose, '')
  return `${key.currentId}.${encrypt(plain, key.current, purpose, key.currentId)}`
}

/**
 * Reads what {@link seal} wrote. Throws when the key or the purpose differ or the text was touched.
 * @throws UnknownKeyError when the ring has not the key that sealed it
 */
export function unseal(sealed: string, key: Secret | KeyRing, purpose: string): string {
  if (!(key instanceof KeyRing)) return decrypt(sealed, key, purpose, '')
  const id = sealingKeyId(sealed)
  const secret = id === undefined ? undefined : key.find(id)
  if (id === undefined || secret === undefined) throw new UnknownKeyError(id)
  return decrypt(sealed.slice(id.length + 1), secret, purpose, id)
}

function sealingKey(key: Secret, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key.reveal(), 'gatehouse', purpose, 32))
}

function encrypt(plain: string, key: Secret, purpose: string, keyId: string): string {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', sealingKey(key, purpose), iv).setAAD(Buffer.from(keyId))
  const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url')
}

function decrypt(text: string, key: Secret, purpose: string, keyId: string): string {
  const bytes = Buffer.from(text, 'base64url')
  const options = { authTagLength: tagBytes }
  const decipher = createDecipheriv('aes-256-gcm', sealingKey(key, purpose), bytes.subarray(0, ivBytes), options)
  decipher.setAAD(Buffer.from(keyId)).setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
  return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString('utf8')
}
