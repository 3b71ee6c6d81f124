import { createPublicKey, type KeyObject, type webcrypto } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../core/strict-json.ts'
import { type AlgorithmName, algorithmsOf, signatureCheck } from './algorithms.ts'

/** A public key as a JSON Web Key (RFC 7517 §4, RFC 7518 §6). Other members are ignored. */
export interface Jwk {
  readonly kty?: string
  readonly kid?: string
  readonly alg?: string
  readonly use?: string
  readonly n?: string
  readonly e?: string
  readonly crv?: string
  readonly x?: string
  readonly y?: string
}

/** One imported key with one algorithm. */
export interface VerificationKey {
  readonly kid: string | undefined
  readonly alg: AlgorithmName
  verify(data: Buffer, signature: Buffer): boolean
}

/** The keys of one issuer at one time. Immutable: a rotation creates another set. */
export interface KeySet {
  /** Equal for sets with the same content. */
  readonly fingerprint: string
  /** The key of a token's header. A token without `kid` has one only if no other key has its algorithm. */
  find(kid: string | undefined, alg: string): VerificationKey | undefined
  /** Whether the set has this key id, with any algorithm. */
  has(kid: string): boolean
}

const maxKeys = 64
const minModulusBits = 2048
const maxModulusBits = 8192

/**
 * Imports a JWK Set. Keys that must not verify (symmetric, private, for encryption, weak, of another algorithm or an
 * unknown type) are ignored (RFC 7517 §5).
 *
 * @throws TypeError when it is not a JWK Set, has more than 64 keys, or has no usable key
 */
export function importKeySet(jwks: readonly unknown[], allowed: readonly AlgorithmName[]): KeySet {
  if (jwks.length > maxKeys) throw new TypeError(`a JWK Set of at most ${maxKeys} keys was expected`)
  const keys = jwks.filter(isJsonObject).flatMap((jwk) => importKey(jwk, allowed))
  if (keys.length === 0) throw new TypeError(`no key in the JWK Set can verify ${allowed.join(', ')}`)
  const kids = new Set(keys.map((key) => key.kid))
  return {
    fingerprint: JSON.stringify(jwks),
    has: (kid) => kids.has(kid),
    find(kid, alg) {
      const matching = keys.filter((key) => key.alg === alg && (kid === undefined || key.kid === kid))
      return matching.length === 1 ? matching[0] : undefined
    },
  }
}

function importKey(jwk: JsonObject, allowed: readonly AlgorithmName[]): VerificationKey[] {
  const { kty, crv, alg, use, kid, key_ops: operations } = jwk
  if ('d' in jwk || 'k' in jwk) return []
  if (use !== undefined && use !== 'sig') return []
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) return []
  if (kid !== undefined && typeof kid !== 'string') return []
  const names = algorithmsOf(kty, crv, alg).filter((name) => allowed.includes(name))
  const key = names.length > 0 ? publicKey(jwk) : undefined
  if (key === undefined) return []
  return names.map((name) => ({ kid, alg: name, verify: signatureCheck(name, key) }))
}

function publicKey(jwk: JsonObject): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: jwk as webcrypto.JsonWebKey, format: 'jwk' })
    return isStrong(key) ? key : undefined
  } catch {
    return undefined
  }
}

/** An RSA key must be too large to factor, small enough to verify quickly, and have a safe exponent. */
function isStrong(key: KeyObject): boolean {
  const { modulusLength: bits, publicExponent: exponent } = key.asymmetricKeyDetails ?? {}
  if (bits === undefined || exponent === undefined) return key.asymmetricKeyType !== 'rsa'
  return bits >= minModulusBits && bits <= maxModulusBits && exponent >= 3n && exponent % 2n === 1n
}
