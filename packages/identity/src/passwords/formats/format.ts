/** A stored hash of a password, whatever made it. */
export interface StoredHash {
  /** Whether a password, as bytes, is the one that was hashed. */
  matches(password: Buffer): Promise<boolean>
}

/** A hash as it is stored: readable, or why it is not. The reason never contains the hash. */
export type ParsedHash = { readonly hash: StoredHash } | { readonly fault: string }

/** Reads the hashes of one scheme: undefined for a text of another one. */
export type HashFormat = (text: string) => ParsedHash | undefined

/** The bytes of base64 text, with or without padding, in which `.` may stand for `+` as passlib writes it. */
export function decodeBase64(text: string): Buffer {
  return Buffer.from(text.replaceAll('.', '+'), 'base64')
}

/** Base64 without padding, as PHC strings have it. */
export function encodeBase64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}

/** Bounds of the length of a digest and of a salt, in bytes. */
export function checkLengths(salt: Buffer, digest: Buffer): string | undefined {
  if (digest.length < 16 || digest.length > 128) return `the digest must have 16 to 128 bytes, it has ${digest.length}`
  if (salt.length > 256) return `the salt must have at most 256 bytes, it has ${salt.length}`
  return undefined
}
