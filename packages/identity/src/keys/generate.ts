import { generateKeyPair, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { type KeyRing, seal } from '@gatehouse/kit'
import type { SigningAlgorithm } from '../model/client.ts'
import type { StoredKey } from '../store/index.ts'

const generate = promisify(generateKeyPair)
const modulusLength = 2048
const publicExponent = 65_537

const pairs = {
  ES256: () => generate('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generate('ed25519'),
  RS256: () => generate('rsa', { modulusLength, publicExponent }),
  PS256: () => generate('rsa', { modulusLength, publicExponent }),
} as const satisfies Record<SigningAlgorithm, () => unknown>

/** The purpose that a private key is sealed for, so that keys can't be exchanged. */
export function signingKeyPurpose(kid: string): string {
  return `signing key ${kid}`
}

/** A key before it is stored, which says when it signs. */
export type GeneratedKey = Pick<StoredKey, 'kid' | 'alg' | 'publicJwk' | 'privateSealed'>

/** Generates a key for an algorithm, with a unique kid. */
export async function generateSigningKey(alg: SigningAlgorithm, encryptionKey: KeyRing): Promise<GeneratedKey> {
  const { publicKey, privateKey } = await pairs[alg]()
  const kid = randomUUID()
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
  return {
    kid,
    alg,
    publicJwk: publicKey.export({ format: 'jwk' }) as Record<string, unknown>,
    privateSealed: seal(pem, encryptionKey, signingKeyPurpose(kid)),
  }
}
