import type { Client, ClientMetadata, SigningAlgorithm } from './client.ts'
import type { User } from './user.ts'

/** Who was written: made afresh, or changed. */
export type Written = 'created' | 'updated'

export interface NewClient {
  readonly id: string
  readonly plan: string | undefined
  readonly metadata: ClientMetadata
  /** Undefined leaves the secrets of a client that exists as they are … */
  readonly secretHashes: readonly string[] | undefined
  /** … and one that doesn't exist yet begins with this. */
  readonly firstSecretHash?: string
}

export interface NewUser {
  readonly id: string
  readonly username: string
  readonly plan: string | undefined
  readonly email: string | undefined
  readonly emailVerified: boolean
  readonly roles: readonly string[]
  readonly claims: Readonly<Record<string, unknown>>
  /** Undefined leaves the password of a user who exists as it is … */
  readonly passwordHash: string | undefined
  /** … and one who doesn't exist yet begins with this. */
  readonly firstPasswordHash?: string
}

/** A unique name (an id, a username, an address) belongs to somebody else. */
export class NameTaken extends Error {
  override readonly name = 'NameTaken'
  readonly member: 'id' | 'username' | 'email'

  constructor(member: NameTaken['member'], message: string) {
    super(message)
    this.member = member
  }
}

export interface Clients {
  find(id: string): Promise<Client | undefined>
}

export interface Users {
  find(id: string): Promise<User | undefined>
}

/** Users and clients share one space of names; each has a plan. */
export interface Subjects {
  planOf(id: string): Promise<{ readonly plan: string | undefined; readonly kind: 'user' | 'client' } | undefined>
}

/** What the configuration file declares; last edit wins. Each answers what it wrote, and how. */
export interface Declared {
  clients(entries: readonly DeclaredEntry<NewClient>[], now: number): Promise<Map<string, Written>>
  users(entries: readonly DeclaredEntry<NewUser>[], now: number): Promise<Map<string, Written>>
}

export interface DeclaredEntry<Record> {
  readonly id: string
  /** What was declared: compared with what was declared last time. */
  readonly entry: unknown
  /** Called only when the entry is to be written. */
  readonly record: () => Promise<Record>
}

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

/** Everything identity keeps, by role. A feature asks for its roles only. */
export interface IdentityStore {
  readonly clients: Clients
  readonly users: Users
  readonly subjects: Subjects
  readonly declared: Declared
  readonly signingKeys: SigningKeyRows
  ping(): Promise<void>
}
