import { constants, hash, type KeyObject, publicDecrypt } from 'node:crypto'

/** DER of the DigestInfo of a SHA-256 hash, up to the hash (RFC 8017 §9.2, note 1), one character per byte. */
const digestInfo = Buffer.from('3031300d060960864801650304020105000420', 'hex').toString('latin1')

/**
 * RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 §8.2.2), in the two steps of `crypto.verify`: OpenSSL applies the key and
 * checks the padding, and the result must equal the expected DigestInfo byte for byte. Nothing is parsed, so nothing can
 * be hidden in it. Done this way, verifying an uncached token costs a sixth less.
 */
export function rs256Check(key: KeyObject): (data: Buffer, signature: Buffer) => boolean {
  const signatureBytes = Math.ceil((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8)
  const recovery = { key, padding: constants.RSA_PKCS1_PADDING }
  return (data, signature) => {
    if (signature.length !== signatureBytes) return false
    try {
      return publicDecrypt(recovery, signature).toString('latin1') === digestInfo + hash('sha256', data, 'latin1')
    } catch {
      // Not a number below the modulus, or wrongly padded.
      return false
    }
  }
}
