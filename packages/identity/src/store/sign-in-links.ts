import type { User } from '../model/user.ts'
import type { OutboxMessage } from './operations.ts'

/** A mailed link that completes a sign-in, in the browser where it began; a mailed code does the same. */
export interface SignInLink {
  /** Of the token in the link. */
  readonly hash: string
  /** Whose mailbox proves the sign-in; undefined where nothing was mailed, for a page that looks the same. */
  readonly user: { readonly id: string; readonly email: string; readonly credentialVersion: string } | undefined
  /** Of the browser's own cookie. */
  readonly browserHash: string
  /** Sealed: what the browser resumes. */
  readonly continuation: string
  /** The methods that the sign-in amounts to (RFC 8176). */
  readonly amr: readonly string[]
  /** The code that can be entered in place of the link. */
  readonly code?: {
    /** Of the challenge, which the page keeps. */
    readonly challengeHash: string
    /** Of code and challenge. */
    readonly codeHash: string
    /** By what wrong codes are limited: the user's id, or the name that was entered. */
    readonly account: string
  }
  readonly expiresAt: number
}

/**
 * A valid link with its user: the account has the address and the credentials that it was created for, is not locked,
 * and has no management role where the mail alone signs in.
 */
export interface SignInLinkWithUser {
  readonly user: User
  readonly continuation: string
  readonly amr: readonly string[]
}

/** A code that is waited for. */
export interface PendingCode {
  readonly user: User | undefined
  readonly account: string
}

/** A code that was entered. */
export interface CodeAttempt {
  readonly challengeHash: string
  readonly codeHash: string
  readonly browserHash: string
}

/** Mailed links and codes that complete a sign-in. Using one marks the address as verified. */
export interface SignInLinks {
  /** Stores the link and adds its mail to the outbox. */
  put(link: SignInLink, messages: readonly OutboxMessage[]): Promise<void>
  /** The link while it is valid in this browser; reading does not consume it. */
  find(hash: string, browserHash: string, now: number): Promise<SignInLinkWithUser | undefined>
  /** Consumes the link: returned to exactly one caller. */
  consume(hash: string, browserHash: string, now: number): Promise<SignInLinkWithUser | undefined>
  /** What a challenge waits for in this browser, while it is valid and wrong codes are left to it. */
  findCode(challengeHash: string, browserHash: string, now: number): Promise<PendingCode | undefined>
  /** Counts the attempt and consumes the link when the code is right: returned to exactly one caller. */
  consumeCode(attempt: CodeAttempt, now: number): Promise<SignInLinkWithUser | 'wrong'>
}
