import { createPrivateKey, type KeyObject } from 'node:crypto'
import { type Clock, type KeyRing, type Log, StartError, UnknownKeyError, unseal } from '@gatehouse/kit'
import type { SigningAlgorithm } from '../model/client.ts'
import type { SigningKeyRows, StoredKey } from '../store/index.ts'
import { generateSigningKey, sealedFor } from './generate.ts'

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
  readonly encryptionKey: KeyRing
  readonly clock: Clock
  readonly log: Log
  /** Those there is a key for from the start; of another one a key is made when it is first asked for. */
  readonly algorithms: readonly SigningAlgorithm[]
  /** How long a key signs, in milliseconds. */
  readonly ageMs: number
  /** The longest life of what a key signs, in milliseconds: an old key is published that long. */
  readonly longestTokenMs: number
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
  readonly #forgotten = new Set<string>()
  readonly #unreadable = new Set<string>()
  readonly #making = new Map<SigningAlgorithm, Promise<void>>()
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
    for (const alg of new Set([...this.#options.algorithms, ...used])) made.push(...(await this.#makeIfDue(alg)))
    if (made.length > 0) await this.#read()
    return made
  }

  /**
   * Makes a new key of `alg`. It signs in a minute, when every process and its callers can know it, and the old one stays
   * published; when that is `compromised` it is forgotten, by the revocation feed too, and the new one signs, at once.
   */
  async rotate(alg: SigningAlgorithm, compromised: boolean = false): Promise<string> {
    await this.#read()
    const { rows, clock } = this.#options
    const now = clock.now()
    const activatesAt = compromised || this.#active(alg) === undefined ? now : now + announcedAheadMs
    const key = await this.#generate(alg, activatesAt)
    if (compromised) for (const kid of await rows.replace(key, now)) this.#forgotten.add(kid)
    else await rows.add(key, this.#endOfOld(activatesAt), Number.MAX_SAFE_INTEGER)
    await this.#read()
    return key.kid
  }

  /** Whether this key was compromised, as far as this process has heard. */
  isForgotten(kid: string): boolean {
    return this.#forgotten.has(kid)
  }

  /** The key that signs now: of those that are active the one made last. */
  active(alg: SigningAlgorithm): SigningKey {
    const key = this.#active(alg)
    if (key === undefined) throw new Error(`there is no ${alg} key to sign with`)
    return key
  }

  /** The key that signs now with `alg`; when there was none yet, it is made. */
  async signing(alg: SigningAlgorithm): Promise<SigningKey> {
    const key = this.#active(alg)
    if (key !== undefined) return key
    const making = this.#making.get(alg) ?? this.#make(alg).finally(() => this.#making.delete(alg))
    this.#making.set(alg, making)
    await making
    return this.active(alg)
  }

  /** The keys that sign now, one of each algorithm that is used. */
  allActive(): SigningKey[] {
    const used = new Set(this.#stored.map(({ alg }) => alg))
    return [...used].map((alg) => this.#active(alg)).filter((key) => key !== undefined)
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

  #active(alg: SigningAlgorithm): SigningKey | undefined {
    const now = this.#options.clock.now()
    for (const stored of this.#live(now)) {
      const privateKey = this.#private.get(stored.kid)
      if (stored.alg === alg && stored.activatesAt <= now && privateKey !== undefined)
        return { kid: stored.kid, alg, privateKey, activatesAt: stored.activatesAt }
    }
    return undefined
  }

  #live(now: number): StoredKey[] {
    return this.#stored.filter(
      ({ kid, expiresAt }) => (expiresAt === undefined || expiresAt > now) && !this.#forgotten.has(kid),
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
    const stored = await this.#options.rows.all(now)
    const kids = new Set(stored.map(({ kid }) => kid))
    // Nothing but a compromise removes a key before its end.
    for (const { kid } of this.#live(now)) if (!kids.has(kid)) this.#forgotten.add(kid)
    for (const kid of this.#private.keys()) if (!kids.has(kid)) this.#private.delete(kid)
    for (const key of stored) this.#open(key)
    this.#started = true
    this.#stored = stored
  }

  async #make(alg: SigningAlgorithm): Promise<void> {
    await this.#makeIfDue(alg)
    await this.#read()
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

  #generate(alg: SigningAlgorithm, activatesAt: number): Promise<StoredKey> {
    const { encryptionKey, clock } = this.#options
    return generateSigningKey(alg, encryptionKey, { createdAt: clock.now(), activatesAt })
  }

  /** At the start, a key that can't be opened stops the program; later it only does not sign. */
  #open({ kid, privateSealed }: StoredKey): void {
    if (this.#private.has(kid) || this.#unreadable.has(kid)) return
    try {
      this.#private.set(kid, createPrivateKey(unseal(privateSealed, this.#options.encryptionKey, sealedFor(kid))))
    } catch (error) {
      if (!this.#started) throw new StartError(`the signing key ${kid} can't be opened: ${reasonOf(error)}`)
      this.#unreadable.add(kid)
      this.#options.log.error({ err: error, kid }, 'a signing key can not be opened, and does not sign here')
    }
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof UnknownKeyError) return `it is sealed with an encryption key that is not there, ${error.message}`
  return 'what is stored was changed'
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
