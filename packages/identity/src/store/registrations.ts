import type { OutboxMessage } from './outbox.ts'
import type { NewUser } from './users.ts'

/** Somebody asked for an account with this address; whoever opens the link that is mailed there makes it. */
export interface Registration {
  /** Of the token in the link. */
  readonly hash: string
  /** The id that the account will have. */
  readonly userId: string
  readonly email: string
  readonly expiresAt: number
}

export interface Registrations {
  /** Puts the registration in the place of an earlier one for its address, and its messages into the outbox. */
  put(registration: Registration, messages: readonly OutboxMessage[]): Promise<void>
  /** The registration while its link works; looking uses nothing up. */
  find(hash: string, now: number): Promise<Registration | undefined>
  /** Makes the account and uses the link up in one step. True for exactly one caller, ever. @throws NameTaken */
  complete(hash: string, user: NewUser, messages: readonly OutboxMessage[], now: number): Promise<boolean>
}
