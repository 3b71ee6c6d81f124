import type { Clock } from '@gatehouse/kit'
import type { JSONWebKeySet } from 'jose'
import { safeFetch } from '../http/safe-fetch.ts'

/** Older keys are fetched again. */
const rememberedMs = 5 * 60_000
/** The minimum time between two fetches of one address, whatever their result or cause. */
const spacingMs = 30_000
const maxAddresses = 1_000
const maxConcurrentFetches = 32
const maxKeys = 64

interface Known {
  /** Undefined while none could be fetched. */
  readonly keys: JSONWebKeySet | undefined
  readonly fetchedAt: number
  readonly attemptedAt: number
}

/**
 * The keys at the `jwks_uri` of clients. Anyone can name a client and a key id, so fetches are bounded: one at a time
 * and one in 30 seconds per address, even when it fails or a key is missing; 32 concurrent ones in all; each within the
 * time and size of {@link safeFetch}.
 */
export class ClientJwks {
  readonly #known = new Map<string, Known>()
  readonly #fetching = new Map<string, Promise<void>>()
  readonly #clock: Clock
  readonly #loopback: boolean

  constructor({ clock, loopback }: { readonly clock: Clock; readonly loopback: boolean }) {
    this.#clock = clock
    this.#loopback = loopback
  }

  /**
   * The keys at an address, at most 5 minutes old.
   * @throws Error when they can't be had now
   */
  async get(address: string): Promise<JSONWebKeySet> {
    if (this.#fresh(address) === undefined) await this.#fetch(address)
    return this.#fresh(address) ?? refuse(`the keys at ${address} cannot be fetched`)
  }

  /**
   * The same when a key is missing that the client may have added since: fetched again, if a fetch is due.
   * @throws Error when they can't be fetched now
   */
  async refresh(address: string): Promise<JSONWebKeySet> {
    await this.#fetch(address)
    return this.get(address)
  }

  #fresh(address: string): JSONWebKeySet | undefined {
    const known = this.#known.get(address)
    return known !== undefined && this.#passedSince(known.fetchedAt) < rememberedMs ? known.keys : undefined
  }

  /** In either direction, so that a clock that was set back keeps no keys and stops no fetch for as long. */
  #passedSince(time: number): number {
    return Math.abs(this.#clock.now() - time)
  }

  /** Joins the fetch in progress; does nothing within 30 seconds of the last one. */
  #fetch(address: string): Promise<void> {
    const fetching = this.#fetching.get(address)
    if (fetching !== undefined) return fetching
    const now = this.#clock.now()
    const known = this.#known.get(address)
    if (known !== undefined && this.#passedSince(known.attemptedAt) < spacingMs) return Promise.resolve()
    if (this.#fetching.size >= maxConcurrentFetches)
      return Promise.reject(new Error('too many client key fetches are in progress'))
    const fetched = this.#read(address)
      .then((keys) => this.#remember(address, { keys, fetchedAt: now, attemptedAt: now }))
      .catch(() => this.#remember(address, { keys: known?.keys, fetchedAt: known?.fetchedAt ?? 0, attemptedAt: now }))
      .finally(() => this.#fetching.delete(address))
    this.#fetching.set(address, fetched)
    return fetched
  }

  async #read(address: string): Promise<JSONWebKeySet> {
    const { status, body } = await safeFetch(address, { loopback: this.#loopback })
    if (status !== 200) throw new Error(`jwks_uri returned status ${status}, expected 200`)
    const set = JSON.parse(body) as Partial<JSONWebKeySet> | null
    if (!Array.isArray(set?.keys) || set.keys.length > maxKeys) throw new Error('jwks_uri did not return a JWK Set')
    return { keys: set.keys }
  }

  /** The least recently fetched address is dropped first. */
  #remember(address: string, known: Known): void {
    this.#known.delete(address)
    const [oldest] = this.#known.keys()
    if (this.#known.size >= maxAddresses && oldest !== undefined) this.#known.delete(oldest)
    this.#known.set(address, known)
  }
}

function refuse(reason: string): never {
  throw new Error(reason)
}
