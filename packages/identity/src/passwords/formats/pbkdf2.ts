import { pbkdf2, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { checkLengths, decodeBase64, type HashFormat, type ParsedHash } from './format.ts'

const derive = promisify(pbkdf2)
const maxIterations = 2_000_000
/** `$pbkdf2-sha256$i=600000$<salt>$<digest>`; passlib leaves out `i=`, and `-sha1`. */
const phc =
  /^\$pbkdf2(?:-(sha1|sha256|sha512))?\$(?:i=)?(\d{1,10})(?:,l=\d{1,4})?\$([A-Za-z0-9+/.]*)\$([A-Za-z0-9+/.]+)$/
/** Django: `pbkdf2_sha256$600000$<salt as text>$<digest>`. */
const django = /^pbkdf2_(sha1|sha256)\$(\d{1,10})\$([^$]{1,256})\$([A-Za-z0-9+/]+={0,2})$/

/** PBKDF2 (RFC 8018) with SHA-1, SHA-256 or SHA-512, as a PHC string or as Django writes it. */
export const pbkdf2Format: HashFormat = (text) => {
  if (text.startsWith('pbkdf2_')) {
    const [, digestName, iterations, salt = '', digest = ''] = django.exec(text) ?? []
    if (digestName === undefined)
      return { fault: 'a hash of Django must be pbkdf2_sha256$<iterations>$<salt>$<digest>' }
    return parse(digestName, Number(iterations), Buffer.from(salt), decodeBase64(digest))
  }
  if (!text.startsWith('$pbkdf2')) return undefined
  const match = phc.exec(text)
  if (!match) return { fault: 'a PBKDF2 hash must be $pbkdf2-sha256$i=<iterations>$<salt>$<digest>' }
  const [, digestName = 'sha1', iterations, salt = '', digest = ''] = match
  return parse(digestName, Number(iterations), decodeBase64(salt), decodeBase64(digest))
}

function parse(digestName: string, iterations: number, salt: Buffer, digest: Buffer): ParsedHash {
  if (iterations < 1 || iterations > maxIterations)
    return { fault: `PBKDF2 must make 1 to ${maxIterations} iterations, the hash names ${iterations}` }
  const fault = checkLengths(salt, digest)
  if (fault !== undefined) return { fault }
  return {
    hash: {
      async matches(password) {
        return timingSafeEqual(await derive(password, salt, iterations, digest.length, digestName), digest)
      },
    },
  }
}
