import type { SigningAlgorithm } from '../client.ts'

export interface StoredKey {
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly publicJwk: Readonly<Record<string, unknown>>
  readonly privateSealed: string
  readonly createdAt: number
  /** From here on it signs, unless one made later does. */
  readonly activatesAt: number
  /** From here on nothing it signed is valid; undefined while it is the one that signs. */
  readonly expiresAt: number | undefined
}

export interface SigningKeyRows {
  /** Those that are not expired, the one made last first. */
  all(now: number): Promise<StoredKey[]>
  /**
   * Adds a key and ends the others of its algorithm at `othersExpireAt`, unless one was added after `unlessSince`.
   * True for the one process that added.
   */
  add(key: StoredKey, othersExpireAt: number, unlessSince: number): Promise<boolean>
  /**
   * Adds a key and removes the others of its algorithm, which are compromised: the revocation feed names them, for ever,
   * for who holds a private key can sign tokens of any age. Answers their kids.
   */
  replace(key: StoredKey, now: number): Promise<string[]>
  /** Removes what is expired. */
  purge(now: number): Promise<number>
}
