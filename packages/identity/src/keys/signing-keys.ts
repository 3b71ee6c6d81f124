import { createPrivateKey, generateKeyPair, type KeyObject, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { type Clock, type Secret, StartError, seal, unseal } from '@gatehouse/kit'
import type { SigningAlgorithm } from '../client.ts'
import type { SigningKeyRows, StoredKey } from '../store.ts'

export interface SigningKey {
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly privateKey: KeyObject
  readonly activatesAt: number
}

export interface PublicJwk {
  readonly [member: string]: unknown
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly use: 'sig'
}

export interface SigningKeysOptions {
  readonly rows: SigningKeyRows
  readonly encryptionKey: Secret
  readonly clock: Clock
  /** How long a key signs, in milliseconds. */
  readonly ageMs: number
  /** The longest life of what a key signs, in milliseconds: an old key is published that long. */
  readonly longestTokenMs: number
}

const algorithms: readonly SigningAlgorithm[] = ['ES256', 'RS256']
const generate = promisify(generateKeyPair)
/** A new key is published this long before it signs, so that caches of the JWK Set know it by then. */
const publishedAheadMs = 10 * 60_000
/** By command it signs after this: processes read the keys every few seconds, callers ask again after half a minute. */
const announcedAheadMs = 60_000
const overlapMs = 5 * 60_000
/** So often, at most, are the keys read again for a kid that is not among them. */
const rereadEveryMs = 1_000

/**
 * The keys this server signs with: one that signs for each algorithm, the next one published ahead, old ones published
 * until the last token they signed is over. Private parts are sealed in the store and leave it for this object alone.
 */
export class SigningKeys {
  readonly #options: SigningKeysOptions
  #stored: readonly StoredKey[] = []
  readonly #private = new Map<string, KeyObject>()
  #reading: Promise<void> | undefined
  #rereadAfter = 0

  constructor(options: SigningKeysOptions) {
    this.#options = options
  }

  /**
   * Reads the keys, and makes those that are missing or due; answers those that this call made. Safe to call in many
   * processes at once.
   */
  async refresh(): Promise<Pick<StoredKey, 'alg' | 'kid'>[]> {
    await this.#read()
    const made: StoredKey[] = []
    for (const alg of algorithms) made.push(...(await this.#makeIfDue(alg)))
    if (made.length > 0) await this.#read()
    return made
  }

  /**
   * Makes a new key of `alg`. It signs in a minute, when every process and its callers can know it, and the old one stays
   * published; when that is `compromised` it is forgotten, and the new one signs, at once.
   */
  async rotate(alg: SigningAlgorithm, compromised: boolean = false): Promise<string> {
    const now = this.#options.clock.now()
    const activatesAt = compromised ? now : now + announcedAheadMs
    const key = await this.#generate(alg, activatesAt)
    await this.#options.rows.add(key, compromised ? now : this.#endOfOld(activatesAt), Number.MAX_SAFE_INTEGER)
    await this.#read()
    return key.kid
  }

  /** The key that signs now: of those that are active the one made last. */
  active(alg: SigningAlgorithm): SigningKey {
    const now = this.#options.clock.now()
    const stored = this.#live(now).find((key) => key.alg === alg && key.activatesAt <= now)
    if (stored === undefined) throw new Error(`there is no ${alg} key to sign with`)
    return { kid: stored.kid, alg, privateKey: this.#privateKey(stored), activatesAt: stored.activatesAt }
  }

  /** The JWK Set (RFC 7517 §5): public parts of every key whose signatures may be met. */
  jwks(): { keys: PublicJwk[] } {
    const keys = this.#live(this.#options.clock.now())
    return { keys: keys.map(({ kid, alg, publicJwk }) => ({ ...publicJwk, kid, alg, use: 'sig' as const })) }
  }

  /**
   * The JWK Set in which the key of this JWT is to be looked for: read again, once a second at most, when it names one that
   * is not known here, which another process may have made a moment ago.
   */
  async jwksFor(token: string): Promise<{ keys: PublicJwk[] }> {
    const kid = kidOf(token)
    const known = this.jwks()
    if (kid === undefined || known.keys.some((key) => key.kid === kid)) return known
    const now = this.#options.clock.now()
    if (this.#reading === undefined && now >= this.#rereadAfter) {
      this.#rereadAfter = now + rereadEveryMs
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined
      })
    }
    await this.#reading
    return this.jwks()
  }

  /** What operators may know of the keys. */
  list(): Omit<StoredKey, 'privateSealed'>[] {
    return this.#live(this.#options.clock.now()).map(({ privateSealed: _, ...key }) => key)
  }

  #live(now: number): StoredKey[] {
    return this.#stored.filter((key) => key.expiresAt === undefined || key.expiresAt > now)
  }

  async #read(): Promise<void> {
    this.#stored = await this.#options.rows.all(this.#options.clock.now())
    const kids = new Set(this.#stored.map(({ kid }) => kid))
    for (const kid of this.#private.keys()) if (!kids.has(kid)) this.#private.delete(kid)
    for (const key of this.#stored) this.#privateKey(key)
  }

  async #makeIfDue(alg: SigningAlgorithm): Promise<StoredKey[]> {
    const { clock, rows, ageMs } = this.#options
    const now = clock.now()
    const youngest = this.#live(now).find((key) => key.alg === alg)
    const dueSince = now - ageMs + publishedAheadMs
    if (youngest !== undefined && youngest.activatesAt > dueSince) return []
    const activatesAt = youngest === undefined ? now : now + publishedAheadMs
    const key = await this.#generate(alg, activatesAt)
    return (await rows.add(key, this.#endOfOld(activatesAt), dueSince)) ? [key] : []
  }

  #endOfOld(activatesAt: number): number {
    return activatesAt + this.#options.longestTokenMs + overlapMs
  }

  async #generate(alg: SigningAlgorithm, activatesAt: number): Promise<StoredKey> {
    const { publicKey, privateKey } =
      alg === 'ES256'
        ? await generate('ec', { namedCurve: 'P-256' })
        : await generate('rsa', { modulusLength: 2048, publicExponent: 65_537 })
    const kid = randomUUID()
    return {
      kid,
      alg,
      publicJwk: publicKey.export({ format: 'jwk' }) as Record<string, unknown>,
      privateSealed: seal(privateKey.export({ format: 'pem', type: 'pkcs8' }) as string, ...this.#sealing(kid)),
      createdAt: this.#options.clock.now(),
      activatesAt,
      expiresAt: undefined,
    }
  }

  #privateKey(stored: StoredKey): KeyObject {
    const known = this.#private.get(stored.kid)
    if (known) return known
    const key = createPrivateKey(this.#unsealed(stored))
    this.#private.set(stored.kid, key)
    return key
  }

  #unsealed({ kid, privateSealed }: StoredKey): string {
    try {
      return unseal(privateSealed, ...this.#sealing(kid))
    } catch (error) {
      throw new StartError('the signing keys were sealed with another encryption key than this one', { cause: error })
    }
  }

  #sealing(kid: string): [Secret, string] {
    return [this.#options.encryptionKey, `signing key ${kid}`]
  }
}

const longestHeader = 1_000

function kidOf(token: string): string | undefined {
  const [header = ''] = token.split('.', 1)
  if (header.length > longestHeader) return undefined
  try {
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid?: unknown }
    return typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}
