import type { User } from '../user.ts'
import type { OutboxMessage } from './outbox.ts'
import type { RevocationTimes } from './revocations.ts'
import type { UserEnd } from './sessions.ts'

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

/** What a change of a user is made from. */
export type KnownUser = Omit<NewUser, 'id' | 'passwordHash' | 'firstPasswordHash'>

/** What became of a change. The last owner who is not locked stays an owner, unlocked. */
export type UserChange = 'changed' | 'missing' | 'last_owner'

export interface Users {
  find(id: string): Promise<User | undefined>
  /** By username or address, in normal form. */
  findByLogin(login: string): Promise<User | undefined>
  list(after: string, most: number): Promise<User[]>
  /** @throws NameTaken */
  create(user: NewUser, outbox: readonly OutboxMessage[], now: number): Promise<void>
  /** Users who hold the role. */
  withRole(role: string, after: string, most: number): Promise<User[]>
  /**
   * Changes what is known of a user of whom nothing but `expected` was known until now, with messages for the outbox.
   * Access tokens that were issued under a management role end with it. @throws NameTaken
   */
  update(
    user: NewUser,
    expected: KnownUser,
    outbox: readonly OutboxMessage[],
    end: RevocationTimes,
  ): Promise<UserChange | 'outdated'>
  /** Deletes the user and everything of theirs, and tells the revocation feed. */
  remove(id: string, end: UserEnd): Promise<UserChange>
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

/** Users and clients share one space of names; each has a plan. */
export interface Subjects {
  planOf(id: string): Promise<{ readonly plan: string | undefined; readonly kind: 'user' | 'client' } | undefined>
}
