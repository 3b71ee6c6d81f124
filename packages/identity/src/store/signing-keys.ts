import type { SigningAlgorithm } from '../client.ts'

export interface StoredKey {
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly publicJwk: Readonly<Record<string, unknown>>
  readonly privateSealed: string
  readonly createdAt: number
  /** From here on it signs, if it is the youngest. */
  readonly activatesAt: number
  /** From here on nothing it signed is valid; undefined while it is the one that signs. */
  readonly expiresAt: number | undefined
}

export interface SigningKeyRows {
  /** Those that are not expired, the youngest first. */
  all(now: number): Promise<StoredKey[]>
  /**
   * Adds a key and ends the others of its algorithm at `othersExpireAt`, unless one was added after `unlessSince`.
   * True for the one process that added.
   */
  add(key: StoredKey, othersExpireAt: number, unlessSince: number): Promise<boolean>
  /** Removes what is expired. */
  purge(now: number): Promise<number>
}
