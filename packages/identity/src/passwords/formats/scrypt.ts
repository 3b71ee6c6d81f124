import { createCipheriv, scrypt, timingSafeEqual } from 'node:crypto'
import { checkLengths, decodeBase64, encodeBase64, type HashFormat } from './format.ts'

const maxMemory = 64 * 1024 * 1024
/** What scrypt needs beside its main table. */
const spareMemory = 1024 * 1024
const phc = /^\$(scrypt|firebase-scrypt)\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]*)\$([A-Za-z0-9+/]+)$/

/**
 * scrypt (RFC 7914) as a PHC string, `$scrypt$ln=14,r=8,p=1$<salt>$<digest>`; and Firebase's variant of it, see
 * {@link formatFirebaseHash}.
 */
export const scryptFormat: HashFormat = (text) => {
  if (!text.startsWith('$scrypt$') && !text.startsWith('$firebase-scrypt$')) return undefined
  const [, scheme, exponent, r, p, encodedSalt = '', encodedDigest = ''] = phc.exec(text) ?? []
  if (scheme === undefined) return { fault: 'a scrypt hash must be $scrypt$ln=<log2 N>,r=<r>,p=<p>$<salt>$<digest>' }
  const cost = { N: 2 ** Number(exponent), r: Number(r), p: Number(p) }
  const [salt, digest] = [decodeBase64(encodedSalt), decodeBase64(encodedDigest)]
  const fault = checkCost(cost) ?? checkLengths(salt, digest)
  if (fault !== undefined) return { fault }
  const derivation = scheme === 'scrypt' ? derive : deriveAsFirebase
  return {
    hash: {
      async matches(password) {
        return timingSafeEqual(await derivation(password, salt, digest.length, cost), digest)
      },
    },
  }
}

interface ScryptCost {
  readonly N: number
  readonly r: number
  readonly p: number
}

function checkCost({ N, r, p }: ScryptCost): string | undefined {
  const memory = 128 * N * r * p
  if (N >= 2 && r >= 1 && p >= 1 && memory <= maxMemory) return undefined
  return `scrypt must use at most ${maxMemory / 1024 / 1024} MiB, with N from 2 and r and p from 1`
}

function derive(password: Buffer, salt: Buffer, bytes: number, cost: ScryptCost): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, bytes, { ...cost, maxmem: maxMemory + spareMemory }, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}

const firebaseKeyBytes = 32

/** The key stream of AES-256-CTR under the key that scrypt derives: what Firebase adds to its signer key. */
async function deriveAsFirebase(password: Buffer, salt: Buffer, bytes: number, cost: ScryptCost): Promise<Buffer> {
  const key = await derive(password, salt, firebaseKeyBytes, cost)
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(bytes))
}

/** Parameters of a Firebase project, as its console shows them, in base64. */
export interface FirebaseParameters {
  readonly signerKey: string
  readonly saltSeparator: string
  readonly rounds: number
  readonly memCost: number
}

/**
 * A hash of Firebase as it is stored here. Firebase encrypts the signer key of its project under what scrypt derives from
 * the password. Without that key, the key stream remains: it proves the password as well, and keeps no secret of the
 * project in each row.
 */
export function formatFirebaseHash(hash: string, salt: string, parameters: FirebaseParameters): string {
  const encrypted = decodeBase64Url(hash)
  const signerKey = decodeBase64Url(parameters.signerKey)
  const stream = Buffer.from(encrypted.map((byte, index) => byte ^ (signerKey[index] ?? 0)))
  const wholeSalt = Buffer.concat([decodeBase64Url(salt), decodeBase64Url(parameters.saltSeparator)])
  const { memCost, rounds } = parameters
  return `$firebase-scrypt$ln=${memCost},r=${rounds},p=1$${encodeBase64(wholeSalt)}$${encodeBase64(stream)}`
}

/** Firebase writes either alphabet of base64. */
function decodeBase64Url(text: string): Buffer {
  return Buffer.from(text, 'base64url')
}
