import type { User } from '../user.ts'
import type { OutboxMessage } from './outbox.ts'

/** A mailed link that completes one sign-in, in the browser that it began in. */
export interface SignInLink {
  /** Of the token in the link. */
  readonly hash: string
  readonly userId: string
  readonly email: string
  /** Of the credentials that were verified when the link was made. */
  readonly credentialVersion: string
  /** Of the browser's own cookie. */
  readonly browserHash: string
  /** Sealed: what the browser goes on with. */
  readonly continuation: string
  readonly expiresAt: number
}

/** A link, while the account has the address and the credentials that it was made for and is not locked. */
export interface FoundSignInLink {
  readonly user: User
  readonly continuation: string
}

export interface SignInLinks {
  /** Keeps the link, and puts its mail into the outbox. */
  put(link: SignInLink, message: OutboxMessage): Promise<void>
  /** The link while it works in this browser; looking uses nothing up. */
  find(hash: string, browserHash: string, now: number): Promise<FoundSignInLink | undefined>
  /** Uses the link up: it is answered to exactly one caller, ever. */
  use(hash: string, browserHash: string, now: number): Promise<FoundSignInLink | undefined>
}
