import { constants, type KeyObject, verify } from 'node:crypto'
import { rs256Check } from './rs256.ts'

/** A signature algorithm of RFC 7518, RFC 8037 or RFC 9864 and the kind of key that it uses. */
interface Algorithm {
  readonly kty: 'RSA' | 'EC' | 'OKP'
  readonly crv?: string
  /** Whether keys without `alg` are used with this algorithm. */
  readonly isDefault: boolean
  /** The length of a signature in bytes, where the algorithm fixes it. */
  readonly signatureBytes?: number
  check(key: KeyObject): (data: Buffer, signature: Buffer) => boolean
}

const rs256: Algorithm = {
  kty: 'RSA',
  isDefault: true,
  check: rs256Check,
}

const ps256: Algorithm = {
  kty: 'RSA',
  isDefault: false,
  check(key) {
    const options = { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }
    return (data, signature) => verify('sha256', data, options, signature)
  },
}

function ecdsa(crv: string, hash: string, signatureBytes: number): Algorithm {
  return {
    kty: 'EC',
    crv,
    isDefault: true,
    signatureBytes,
    check(key) {
      const options = { key, dsaEncoding: 'ieee-p1363' as const }
      return (data, signature) => verify(hash, data, options, signature)
    },
  }
}

const ed25519: Algorithm = {
  kty: 'OKP',
  crv: 'Ed25519',
  isDefault: true,
  signatureBytes: 64,
  check: (key) => (data, signature) => verify(null, data, key, signature),
}

/** Every supported algorithm. No `none`, and no symmetric one: a public key can never be used as a secret. */
const algorithms = {
  RS256: rs256,
  PS256: ps256,
  ES256: ecdsa('P-256', 'sha256', 64),
  ES384: ecdsa('P-384', 'sha384', 96),
  EdDSA: ed25519,
  Ed25519: ed25519,
} satisfies Record<string, Algorithm>

/** A supported signature algorithm (JWA, RFC 7518 §3.1, RFC 8037, RFC 9864). */
export type AlgorithmName = keyof typeof algorithms

/** Every supported algorithm by name. */
export const algorithmNames: readonly AlgorithmName[] = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519']

/** The algorithms that are accepted by default. */
export const defaultAlgorithms: readonly AlgorithmName[] = ['ES256', 'RS256', 'PS256', 'EdDSA', 'Ed25519']

/** Whether a value names a supported algorithm. */
export function isAlgorithmName(name: unknown): name is AlgorithmName {
  return typeof name === 'string' && Object.hasOwn(algorithms, name)
}

/** The algorithms that a key may be used with: the one that it names, else the defaults of its type and curve. */
export function algorithmsOf(kty: unknown, crv: unknown, alg: unknown): AlgorithmName[] {
  return algorithmNames.filter((name) => {
    const algorithm: Algorithm = algorithms[name]
    if (algorithm.kty !== kty || (algorithm.crv !== undefined && algorithm.crv !== crv)) return false
    return alg === undefined ? algorithm.isDefault : alg === name || (isEd25519(alg) && isEd25519(name))
  })
}

/** RFC 9864 §2.2 renames EdDSA (RFC 8037) with this curve; key and token may use different names for it. */
function isEd25519(name: unknown): boolean {
  return name === 'EdDSA' || name === 'Ed25519'
}

/** A function that verifies signatures of one algorithm with one key; false for anything that is not a signature. */
export function signatureCheck(name: AlgorithmName, key: KeyObject): (data: Buffer, signature: Buffer) => boolean {
  const algorithm: Algorithm = algorithms[name]
  const check = algorithm.check(key)
  return (data, signature) => {
    if (algorithm.signatureBytes !== undefined && signature.length !== algorithm.signatureBytes) return false
    return check(data, signature)
  }
}
