import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { issuer } from '../setup.ts'

/*
 * An authenticator and the browser before it, in software (WebAuthn Level 3 §5, §6): it answers the options that a page
 * received as the JSON that its script would send. Every part of an answer can be made wrong.
 */

/** What a test makes different from a correct answer. */
export interface Deviation {
  readonly origin?: string
  readonly rpId?: string
  readonly type?: string
  readonly crossOrigin?: boolean
  readonly topOrigin?: string
  readonly isUserPresent?: boolean
  readonly isUserVerified?: boolean
  readonly backupEligible?: boolean
  readonly signature?: Buffer
  readonly userHandle?: string | undefined
  readonly counter?: number
  readonly challenge?: string
  readonly transports?: readonly unknown[]
  readonly credProps?: object
  /** Of a credential that exists elsewhere. */
  readonly credentialId?: string
}

const algorithms = { es256: -7, es384: -35, rs256: -257, eddsa: -8 } as const

/** The kind of a virtual authenticator. */
export interface AuthenticatorOptions {
  readonly algorithm?: keyof typeof algorithms
  /** Whether its keys are synced; then its counter stays 0. */
  readonly synced?: boolean
}

interface Credential {
  readonly id: string
  readonly key: KeyObject
  readonly userHandle: string
  counter: number
}

interface CreationOptions {
  readonly challenge: string
  readonly user: { readonly id: string }
  readonly rp: { readonly id: string }
  readonly pubKeyCredParams: readonly { readonly alg: number }[]
  readonly excludeCredentials: readonly { readonly id: string }[]
}

interface RequestOptions {
  readonly challenge: string
  readonly rpId: string
}

/** An authenticator with one credential at a time. */
export class Authenticator {
  readonly #algorithm: keyof typeof algorithms
  readonly #synced: boolean
  #credential: Credential | undefined

  constructor({ algorithm = 'es256', synced = false }: AuthenticatorOptions = {}) {
    this.#algorithm = algorithm
    this.#synced = synced
  }

  /** The identifier of the credential. */
  get id(): string {
    return this.#current().id
  }

  /** Answers `navigator.credentials.create`, with a new credential. */
  create(options: object, deviation: Deviation = {}): string {
    const { challenge, user, rp } = options as CreationOptions
    const { publicKey, privateKey } = generateKeys(this.#algorithm)
    const { credentialId } = deviation
    const id = credentialId === undefined ? randomBytes(32) : Buffer.from(credentialId, 'base64url')
    this.#credential = { id: id.toString('base64url'), key: privateKey, userHandle: user.id, counter: 0 }
    const length = Buffer.alloc(2)
    length.writeUInt16BE(id.length)
    const attested = Buffer.concat([Buffer.alloc(16), length, id, coseKey(this.#algorithm, publicKey)])
    const data = this.#authenticatorData(rp.id, deviation, attested)
    const attestation = new Map<string, Cbor>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', data],
    ])
    return this.#toJson(deviation, 'webauthn.create', challenge, {
      attestationObject: encodeCbor(attestation).toString('base64url'),
      transports: deviation.transports ?? ['internal', 'hybrid'],
    })
  }

  /** Answers `navigator.credentials.get` by the credential. */
  get(options: object, deviation: Deviation = {}): string {
    const { challenge, rpId } = options as RequestOptions
    const { key, userHandle } = this.#current()
    const data = this.#authenticatorData(rpId, deviation)
    const clientData = clientDataOf(deviation, 'webauthn.get', challenge)
    const hash = createHash('sha256').update(clientData).digest()
    const signature =
      deviation.signature ?? sign(this.#algorithm === 'eddsa' ? null : 'sha256', Buffer.concat([data, hash]), key)
    return this.#toJson(deviation, 'webauthn.get', challenge, {
      authenticatorData: data.toString('base64url'),
      signature: signature.toString('base64url'),
      userHandle: 'userHandle' in deviation ? deviation.userHandle : userHandle,
    })
  }

  #current(): Credential {
    return this.#credential ?? assert.fail('no credential was created')
  }

  #authenticatorData(rpId: string, deviation: Deviation, attested?: Buffer): Buffer {
    const { isUserPresent = true, isUserVerified = true, backupEligible = this.#synced } = deviation
    const credential = this.#current()
    if (attested === undefined && !this.#synced) credential.counter += 1
    const bits = [isUserPresent, false, isUserVerified, backupEligible, backupEligible, false, attested !== undefined]
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(deviation.counter ?? credential.counter)
    const flags = Buffer.from([bits.reduce((sum, bit, at) => sum + (bit ? 2 ** at : 0), 0)])
    const hash = createHash('sha256')
      .update(deviation.rpId ?? rpId)
      .digest()
    return Buffer.concat([hash, flags, counter, ...(attested === undefined ? [] : [attested])])
  }

  #toJson(deviation: Deviation, type: string, challenge: string, response: object): string {
    const { id } = this.#current()
    const clientDataJSON = clientDataOf(deviation, type, challenge).toString('base64url')
    return JSON.stringify({
      id,
      rawId: id,
      type: 'public-key',
      clientExtensionResults: { credProps: deviation.credProps ?? { rk: true } },
      authenticatorAttachment: 'platform',
      response: { clientDataJSON, ...response },
    })
  }
}

function clientDataOf(deviation: Deviation, type: string, challenge: string): Buffer {
  const { origin = issuer, crossOrigin = false, topOrigin } = deviation
  const data = {
    type: deviation.type ?? type,
    challenge: deviation.challenge ?? challenge,
    origin,
    crossOrigin,
    topOrigin,
  }
  return Buffer.from(JSON.stringify(data))
}

function generateKeys(algorithm: keyof typeof algorithms): { publicKey: KeyObject; privateKey: KeyObject } {
  if (algorithm === 'rs256') return generateKeyPairSync('rsa', { modulusLength: 2048 })
  if (algorithm === 'eddsa') return generateKeyPairSync('ed25519')
  return generateKeyPairSync('ec', { namedCurve: algorithm === 'es384' ? 'P-384' : 'P-256' })
}

/** The key as COSE (RFC 9052 §7, RFC 9053 §7). */
function coseKey(algorithm: keyof typeof algorithms, key: KeyObject): Buffer {
  const { x = '', y = '', n = '', e = '' } = key.export({ format: 'jwk' })
  const bytes = (text: string) => Buffer.from(text, 'base64url')
  const alg: CoseMember = [3, algorithms[algorithm]]
  const elliptic = (curve: number): CoseMember[] => [[1, 2], alg, [-1, curve], [-2, bytes(x)], [-3, bytes(y)]]
  const members: Record<keyof typeof algorithms, CoseMember[]> = {
    es256: elliptic(1),
    es384: elliptic(2),
    eddsa: [[1, 1], alg, [-1, 6], [-2, bytes(x)]],
    rs256: [[1, 3], alg, [-1, bytes(n)], [-2, bytes(e)]],
  }
  return encodeCbor(new Map(members[algorithm]))
}

type CoseMember = [number, Cbor]
type Cbor = number | string | Buffer | Map<string | number, Cbor>

/** Encodes what authenticators use of CBOR (RFC 8949 §3): integers, bytes, text and maps. */
function encodeCbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  const pairs = [...value].flatMap(([name, item]) => [encodeCbor(name), encodeCbor(item)])
  return Buffer.concat([head(5, value.size), ...pairs])
}

function head(major: number, count: number): Buffer {
  const type = major << 5
  if (count < 24) return Buffer.from([type | count])
  if (count < 256) return Buffer.from([type | 24, count])
  return Buffer.from([type | 25, count >> 8, count & 255])
}
