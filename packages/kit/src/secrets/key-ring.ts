import { hkdfSync } from 'node:crypto'
import { Secret } from './secret.ts'

interface RingKey {
  readonly id: string
  readonly secret: Secret
}

const idBytes = 6
const sealedForm = /^([\w-]{8})\./

/**
 * The encryption keys of a program: the first one encrypts, all of them decrypt. A key is replaced without an interruption:
 * add the new one, put it first, and remove the old one once nothing is encrypted with it.
 */
export class KeyRing {
  readonly #keys: readonly RingKey[]

  /** @throws RangeError for no key at all, and for one that is named twice */
  constructor(secrets: readonly Secret[]) {
    this.#keys = secrets.map((secret) => ({ id: idOf(secret), secret }))
    if (this.#keys.length === 0) throw new RangeError('a key ring needs at least one key')
    if (new Set(this.ids).size < this.#keys.length) throw new RangeError('a key is named twice')
  }

  /** A ring of one key, or the ring itself. */
  static of(key: Secret | KeyRing): KeyRing {
    return key instanceof KeyRing ? key : new KeyRing([key])
  }

  /** The ids of the keys, the encrypting one first. A key cannot be derived from its id. */
  get ids(): readonly string[] {
    return this.#keys.map(({ id }) => id)
  }

  /** The id of the encrypting key. */
  get currentId(): string {
    return this.#current.id
  }

  /** The encrypting key. */
  get current(): Secret {
    return this.#current.secret
  }

  get #current(): RingKey {
    return this.#keys[0] as RingKey
  }

  /** The key of that id, if it is in the ring. */
  find(id: string): Secret | undefined {
    return this.#keys.find((key) => key.id === id)?.secret
  }

  /** A key of `bytes` bytes for one purpose (HKDF-SHA-256), from each key in order. */
  derive(salt: string, purpose: string, bytes: number = 32): Buffer[] {
    return this.#keys.map(({ secret }) => Buffer.from(hkdfSync('sha256', secret.reveal(), salt, purpose, bytes)))
  }
}

/** The id of the key that sealed a value; undefined for what no {@link KeyRing} sealed. */
export function sealingKeyId(sealed: string): string | undefined {
  return sealedForm.exec(sealed)?.[1]
}

function idOf(secret: Secret): string {
  return Buffer.from(hkdfSync('sha256', secret.reveal(), 'gatehouse', 'key id', idBytes)).toString('base64url')
}

/** What a list of keys must be, for error texts. */
export const keyListExpected =
  "must be keys of at least 32 characters that can't be guessed, separated by commas; `openssl rand -base64 32` makes one"

const minKeyLength = 32
const minDistinctCharacters = 8
const maxKeys = 8

/** Reads a list of keys, separated by commas. Faults name a key by its position, never by its text. */
export function readKeyRing(text: string): { readonly ring?: KeyRing; readonly faults: readonly string[] } {
  const keys = text.split(',').map((key) => key.trim())
  const name = (index: number) => (keys.length === 1 ? '' : `key ${index + 1} of ${keys.length}: `)
  const faults = keys.flatMap((key, index) => {
    if (keys.indexOf(key) < index) return [`${name(index)}is the same as key ${keys.indexOf(key) + 1}`]
    const strong = key.length >= minKeyLength && new Set(key).size >= minDistinctCharacters
    return strong ? [] : [`${name(index)}${keyListExpected}`]
  })
  if (keys.length > maxKeys) faults.push(`must be at most ${maxKeys} keys, not ${keys.length}`)
  return faults.length > 0 ? { faults } : { faults, ring: new KeyRing(keys.map((key) => new Secret(key))) }
}
