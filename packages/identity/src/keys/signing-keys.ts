import { createPrivateKey, type KeyObject } from 'node:crypto'
import { type Clock, type KeyRing, type Log, StartError, UnknownKeyError, unseal } from '@gatehouse/kit'
import type { SigningAlgorithm } from '../model/client.ts'
import type { KeyEnd, SigningKeyStore, StoredKey } from '../store/index.ts'
import { type GeneratedKey, generateSigningKey, signingKeyPurpose } from './generate.ts'
import { readKid } from './read-kid.ts'

/** A key that signs. */
export interface SigningKey {
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly privateKey: KeyObject
  readonly activatesAt: number
}

/** What a key does now: sign later, sign, or only verify. */
export type SigningState = 'next' | 'active' | 'retiring'

/** A key without its private part, and what it does now. */
export interface DescribedKey extends Omit<StoredKey, 'privateSealed'> {
  readonly state: SigningState
  /** When the successor of an active key is to sign. */
  readonly dueAt: number | undefined
  /** When the last token that it signed has expired; undefined while no successor is known, and for the next one. */
  readonly lastTokenExpiresAt: number | undefined
  /** Whether this process can open it. */
  readonly isReadable: boolean
}

/** The public part of a signing key (RFC 7517 §4). */
export interface PublicJwk {
  readonly [member: string]: unknown
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly use: 'sig'
}

/** The options of {@link SigningKeys}. */
export interface SigningKeysOptions {
  readonly store: SigningKeyStore
  readonly encryptionKey: KeyRing
  readonly clock: Clock
  readonly log: Log
  /** The algorithms with a key from the start; for others a key is created on first use. */
  readonly algorithms: readonly SigningAlgorithm[]
  /** How long a key signs, in milliseconds. */
  readonly ageMs: number
  /** The longest lifetime of a token, in milliseconds: how long an old key is published. */
  readonly maxTokenMs: number
  /** The longest lifetime of a session, in milliseconds: how long an old key then still verifies hints. */
  readonly maxSessionMs: number
}

/** A new key is published this long before it signs, so that caches of the JWK Set know it by then. */
const publishedAheadMs = 10 * 60_000
/**
 * A key that is rotated by command signs after this time: processes read keys every few seconds, callers every half
 * minute.
 */
const announcedAheadMs = 60_000
const overlapMs = 5 * 60_000
/** How often the keys are read again for an unknown kid at most. */
const rereadEveryMs = 1_000

/**
 * The keys of this server: for each algorithm one that signs, the next one, published ahead, and old ones, published
 * until the last token that they signed has expired. Private parts are sealed in the store and never leave this object.
 */
export class SigningKeys {
  readonly #options: SigningKeysOptions
  #stored: readonly StoredKey[] = []
  readonly #private = new Map<string, KeyObject>()
  /** Compromised keys: a read in progress may still contain them. */
  readonly #compromised = new Set<string>()
  readonly #unreadable = new Set<string>()
  readonly #creating = new Map<SigningAlgorithm, Promise<void>>()
  #started = false
  #lastRead: Promise<void> = Promise.resolve()
  #reading: Promise<void> | undefined
  #rereadAt = Number.NEGATIVE_INFINITY
  /** Up to when the keys in memory are known to be those that are published. */
  #readAt = 0

  constructor(options: SigningKeysOptions) {
    this.#options = options
  }

  /**
   * Reads the keys and creates those that are missing or due; returns those that this call created. Safe to call in
   * many processes concurrently.
   */
  async refresh(): Promise<StoredKey[]> {
    await this.#read()
    const made: StoredKey[] = []
    const used = this.#stored.map(({ alg }) => alg)
    for (const alg of new Set([...this.#options.algorithms, ...used])) made.push(...(await this.#createIfDue(alg)))
    if (made.length > 0) await this.#read()
    return made
  }

  /**
   * Creates a new key of `alg`. It signs in a minute, when every process and its callers know it, and the old one stays
   * published. When that is `compromised` it is revoked and the new one signs at once.
   */
  async rotate(alg: SigningAlgorithm, compromised: boolean = false): Promise<string> {
    await this.#read()
    const { store, clock } = this.#options
    const generated = await this.#generate(alg)
    const now = clock.now()
    const activatesAt = compromised || this.#findActive(alg) === undefined ? now : now + announcedAheadMs
    const key = { ...generated, createdAt: now, activatesAt, expiresAt: undefined }
    if (compromised) for (const kid of await store.replace(key, now)) this.#compromised.add(kid)
    else await store.add(key, this.#oldKeyEnd(activatesAt), Number.MAX_SAFE_INTEGER)
    await this.#read()
    return key.kid
  }

  /** Whether this process knows that the key was compromised. */
  isCompromised(kid: string): boolean {
    return this.#compromised.has(kid)
  }

  /** The key that signs now: the newest active one, or the first to be active if none is yet. */
  getActive(alg: SigningAlgorithm): SigningKey {
    const key = this.#findActive(alg)
    if (key === undefined) throw new Error(`there is no active ${alg} signing key`)
    return key
  }

  /**
   * The key that signs with `alg` now, created if there is none. A process that was suspended, or could not read for a
   * minute, reads the keys before it signs: others may no longer know the one that it last knew.
   */
  async getOrCreate(alg: SigningAlgorithm): Promise<SigningKey> {
    // A read that others began before the suspension says nothing of after it.
    for (let reads = 0; reads < 2 && this.#isOutdated(); reads++) await this.#readOnce()
    const key = this.#findActive(alg)
    if (key !== undefined) return key
    const making = this.#creating.get(alg) ?? this.#create(alg).finally(() => this.#creating.delete(alg))
    this.#creating.set(alg, making)
    await making
    return this.getActive(alg)
  }

  /** The keys that sign now, one for each algorithm in use. */
  listActive(): SigningKey[] {
    const used = new Set(this.#stored.map(({ alg }) => alg))
    return [...used].map((alg) => this.#findActive(alg)).filter((key) => key !== undefined)
  }

  /** The JWK Set (RFC 7517 §5): the public part of every key whose signatures may still be valid. */
  getJwks(): { keys: PublicJwk[] } {
    const keys = this.#listLive(this.#options.clock.now())
    return { keys: keys.map(({ kid, alg, publicJwk }) => ({ ...publicJwk, kid, alg, use: 'sig' as const })) }
  }

  /**
   * The JWK Set to verify this JWT with: read again, once a second at most, when its key is unknown, because another
   * process may have just created it.
   */
  async findJwks(token: string): Promise<{ keys: PublicJwk[] }> {
    const kid = readKid(token)
    const known = this.getJwks()
    if (kid === undefined || known.keys.some((key) => key.kid === kid)) return known
    const now = this.#options.clock.now()
    if (this.#reading === undefined && Math.abs(now - this.#rereadAt) >= rereadEveryMs) {
      this.#rereadAt = now
      await this.#readOnce()
    }
    await this.#reading
    return this.getJwks()
  }

  /** The published keys and what they do now, without their private parts. */
  list(): DescribedKey[] {
    const now = this.#options.clock.now()
    const live = this.#listLive(now)
    return live.map(({ privateSealed: _, ...key }) => {
      const { kid, alg, activatesAt, expiresAt } = key
      const isActive = this.#findActive(alg)?.kid === kid
      const state = isActive ? 'active' : activatesAt > now ? 'next' : 'retiring'
      const successor = live.findLast((other) => other.alg === alg && other.activatesAt > Math.max(now, activatesAt))
      return {
        ...key,
        state,
        dueAt: isActive ? (successor?.activatesAt ?? activatesAt + this.#options.ageMs) : undefined,
        lastTokenExpiresAt: state === 'next' || expiresAt === undefined ? undefined : expiresAt - overlapMs,
        isReadable: this.#private.has(kid),
      }
    })
  }

  /** By a clock behind that of its maker, the only key may not be active yet: it signs, as nothing else can. */
  #findActive(alg: SigningAlgorithm): SigningKey | undefined {
    const now = this.#options.clock.now()
    const readable = this.#listLive(now).flatMap(({ kid, activatesAt, ...stored }): SigningKey[] => {
      const privateKey = this.#private.get(kid)
      return stored.alg === alg && privateKey !== undefined ? [{ kid, alg, privateKey, activatesAt }] : []
    })
    const active = readable.find(({ activatesAt }) => activatesAt <= now)
    return active ?? readable.toSorted((one, other) => one.activatesAt - other.activatesAt)[0]
  }

  #listLive(now: number): StoredKey[] {
    return this.#stored.filter(
      ({ kid, expiresAt }) => (expiresAt === undefined || expiresAt > now) && !this.#compromised.has(kid),
    )
  }

  #isOutdated(): boolean {
    return Math.abs(this.#options.clock.now() - this.#readAt) > announcedAheadMs
  }

  /** A read that callers share. */
  #readOnce(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** Reads run one after the other, so that none ends with an older state. */
  #read(): Promise<void> {
    const reading = this.#lastRead.then(() => this.#readNow())
    this.#lastRead = reading.catch(() => {})
    return reading
  }

  async #readNow(): Promise<void> {
    const now = this.#options.clock.now()
    const stored = await this.#options.store.list(now)
    const kids = new Set(stored.map(({ kid }) => kid))
    // Only a compromise deletes a key before it expires.
    for (const { kid } of this.#listLive(this.#options.clock.now())) if (!kids.has(kid)) this.#compromised.add(kid)
    for (const kid of this.#private.keys()) if (!kids.has(kid)) this.#private.delete(kid)
    for (const key of stored) this.#open(key)
    this.#started = true
    this.#stored = stored
    this.#readAt = now
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
    const generated = await this.#generate(alg)
    const createdAt = clock.now()
    const activatesAt = youngest === undefined ? createdAt : createdAt + publishedAheadMs
    const key = { ...generated, createdAt, activatesAt, expiresAt: undefined }
    return (await store.add(key, this.#oldKeyEnd(activatesAt), dueSince)) ? [key] : []
  }

  #oldKeyEnd(activatesAt: number): KeyEnd {
    const expiresAt = activatesAt + this.#options.maxTokenMs + overlapMs
    return { expiresAt, forgottenAt: expiresAt + this.#options.maxSessionMs }
  }

  /** Takes a while: the times of a key are those of the moment after it. */
  #generate(alg: SigningAlgorithm): Promise<GeneratedKey> {
    return generateSigningKey(alg, this.#options.encryptionKey)
  }

  /** At the start an unreadable key stops the program; later it only does not sign. */
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
