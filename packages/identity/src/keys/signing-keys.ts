import { createPrivateKey, type KeyObject } from 'node:crypto'
import { type Clock, type KeyRing, type Log, StartError, UnknownKeyError, unseal } from '@gatehouse/kit'
import type { SigningAlgorithm } from '../model/client.ts'
import type { SigningKeyStore, StoredKey } from '../store/index.ts'
import { generateSigningKey, signingKeyPurpose } from './generate.ts'

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
  readonly store: SigningKeyStore
  readonly encryptionKey: KeyRing
  readonly clock: Clock
  readonly log: Log
  /** Those there is a key for from the start; of another one a key is made when it is first asked for. */
  readonly algorithms: readonly SigningAlgorithm[]
  /** How long a key signs, in milliseconds. */
  readonly ageMs: number
  /** The longest life of what a key signs, in milliseconds: an old key is published that long. */
  readonly maxTokenMs: number
}

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
  /** Keys that were compromised: what is still being read may name them. */
  readonly #compromised = new Set<string>()
  readonly #unreadable = new Set<string>()
  readonly #creating = new Map<SigningAlgorithm, Promise<void>>()
  #started = false
  #lastRead: Promise<void> = Promise.resolve()
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
    const used = this.#stored.map(({ alg }) => alg)
    for (const alg of new Set([...this.#options.algorithms, ...used])) made.push(...(await this.#createIfDue(alg)))
    if (made.length > 0) await this.#read()
    return made
  }

  /**
   * Makes a new key of `alg`. It signs in a minute, when every process and its callers can know it, and the old one stays
   * published; when that is `compromised` it is forgotten, by the revocation feed too, and the new one signs, at once.
   */
  async rotate(alg: SigningAlgorithm, compromised: boolean = false): Promise<string> {
    await this.#read()
    const { store, clock } = this.#options
    const now = clock.now()
    const activatesAt = compromised || this.#findActive(alg) === undefined ? now : now + announcedAheadMs
    const key = await this.#generate(alg, activatesAt)
    if (compromised) for (const kid of await store.replace(key, now)) this.#compromised.add(kid)
    else await store.add(key, this.#oldKeyExpiry(activatesAt), Number.MAX_SAFE_INTEGER)
    await this.#read()
    return key.kid
  }

  /** Whether this key was compromised, as far as this process has heard. */
  isCompromised(kid: string): boolean {
    return this.#compromised.has(kid)
  }

  /** The key that signs now: of those that are active the one made last. */
  getActive(alg: SigningAlgorithm): SigningKey {
    const key = this.#findActive(alg)
    if (key === undefined) throw new Error(`there is no active ${alg} signing key`)
    return key
  }

  /** The key that signs now with `alg`; when there was none yet, it is made. */
  async getOrCreate(alg: SigningAlgorithm): Promise<SigningKey> {
    const key = this.#findActive(alg)
    if (key !== undefined) return key
    const making = this.#creating.get(alg) ?? this.#create(alg).finally(() => this.#creating.delete(alg))
    this.#creating.set(alg, making)
    await making
    return this.getActive(alg)
  }

  /** The keys that sign now, one of each algorithm that is used. */
  listActive(): SigningKey[] {
    const used = new Set(this.#stored.map(({ alg }) => alg))
    return [...used].map((alg) => this.#findActive(alg)).filter((key) => key !== undefined)
  }

  /** The JWK Set (RFC 7517 §5): public parts of every key whose signatures may be met. */
  getJwks(): { keys: PublicJwk[] } {
    const keys = this.#listLive(this.#options.clock.now())
    return { keys: keys.map(({ kid, alg, publicJwk }) => ({ ...publicJwk, kid, alg, use: 'sig' as const })) }
  }

  /**
   * The JWK Set in which the key of this JWT is to be looked for: read again, once a second at most, when it names one that
   * is not known here, which another process may have made a moment ago.
   */
  async findJwks(token: string): Promise<{ keys: PublicJwk[] }> {
    const kid = readKid(token)
    const known = this.getJwks()
    if (kid === undefined || known.keys.some((key) => key.kid === kid)) return known
    const now = this.#options.clock.now()
    if (this.#reading === undefined && now >= this.#rereadAfter) {
      this.#rereadAfter = now + rereadEveryMs
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined
      })
    }
    await this.#reading
    return this.getJwks()
  }

  /** What operators may know of the keys. */
  list(): Omit<StoredKey, 'privateSealed'>[] {
    return this.#listLive(this.#options.clock.now()).map(({ privateSealed: _, ...key }) => key)
  }

  #findActive(alg: SigningAlgorithm): SigningKey | undefined {
    const now = this.#options.clock.now()
    for (const stored of this.#listLive(now)) {
      const privateKey = this.#private.get(stored.kid)
      if (stored.alg === alg && stored.activatesAt <= now && privateKey !== undefined)
        return { kid: stored.kid, alg, privateKey, activatesAt: stored.activatesAt }
    }
    return undefined
  }

  #listLive(now: number): StoredKey[] {
    return this.#stored.filter(
      ({ kid, expiresAt }) => (expiresAt === undefined || expiresAt > now) && !this.#compromised.has(kid),
    )
  }

  /** One reading after the other, so that none ends with what an earlier one saw. */
  #read(): Promise<void> {
    const reading = this.#lastRead.then(() => this.#readNow())
    this.#lastRead = reading.catch(() => {})
    return reading
  }

  async #readNow(): Promise<void> {
    const now = this.#options.clock.now()
    const stored = await this.#options.store.list(now)
    const kids = new Set(stored.map(({ kid }) => kid))
    // Nothing but a compromise removes a key before its end.
    for (const { kid } of this.#listLive(now)) if (!kids.has(kid)) this.#compromised.add(kid)
    for (const kid of this.#private.keys()) if (!kids.has(kid)) this.#private.delete(kid)
    for (const key of stored) this.#open(key)
    this.#started = true
    this.#stored = stored
  }

  async #create(alg: SigningAlgorithm): Promise<void> {
    await this.#createIfDue(alg)
    await this.#read()
  }

  async #createIfDue(alg: SigningAlgorithm): Promise<StoredKey[]> {
    const { clock, store, ageMs } = this.#options
    const now = clock.now()
    const youngest = this.#listLive(now).find((key) => key.alg === alg)
    const dueSince = now - ageMs + publishedAheadMs
    if (youngest !== undefined && youngest.activatesAt > dueSince) return []
    const activatesAt = youngest === undefined ? now : now + publishedAheadMs
    const key = await this.#generate(alg, activatesAt)
    return (await store.add(key, this.#oldKeyExpiry(activatesAt), dueSince)) ? [key] : []
  }

  #oldKeyExpiry(activatesAt: number): number {
    return activatesAt + this.#options.maxTokenMs + overlapMs
  }

  #generate(alg: SigningAlgorithm, activatesAt: number): Promise<StoredKey> {
    const { encryptionKey, clock } = this.#options
    return generateSigningKey(alg, encryptionKey, { createdAt: clock.now(), activatesAt })
  }

  /** At the start, a key that can't be opened stops the program; later it only does not sign. */
  #open({ kid, privateSealed }: StoredKey): void {
    if (this.#private.has(kid) || this.#unreadable.has(kid)) return
    try {
      this.#private.set(
        kid,
        createPrivateKey(unseal(privateSealed, this.#options.encryptionKey, signingKeyPurpose(kid))),
      )
    } catch (error) {
      if (!this.#started) throw new StartError(`the signing key ${kid} cannot be opened: ${describeReason(error)}`)
      this.#unreadable.add(kid)
      this.#options.log.error({ err: error, kid }, 'a signing key cannot be opened and is not used by this process')
    }
  }
}

function describeReason(error: unknown): string {
  if (error instanceof UnknownKeyError) return `it is sealed with a missing encryption key, ${error.message}`
  return 'the stored value was changed'
}

const maxHeaderLength = 1_000

function readKid(token: string): string | undefined {
  const [header = ''] = token.split('.', 1)
  if (header.length > maxHeaderLength) return undefined
  try {
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid?: unknown }
    return typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}
