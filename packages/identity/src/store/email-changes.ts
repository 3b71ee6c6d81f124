import type { OutboxMessage } from './operations.ts'

/**
 * A change of a user's address, which waits for the code that was mailed to the new one. It is void once the address or
 * the credentials have changed otherwise: a later change by an administrator stands.
 */
export interface EmailChange {
  readonly userId: string
  /** The address and the credentials of the account when the change began. */
  readonly previousEmail: string | undefined
  readonly credentialVersion: string
  readonly email: string
  /** Of the browser's own cookie. */
  readonly browserHash: string
  /** Of the challenge, which the page keeps. */
  readonly challengeHash: string
  /** Of code and challenge. */
  readonly codeHash: string
  readonly expiresAt: number
}

/** A code that was entered to change an address. */
export type EmailCodeAttempt = Pick<EmailChange, 'userId' | 'browserHash' | 'challengeHash' | 'codeHash'>

/** Changes of addresses that wait for their proof: one for each user. */
export interface EmailChanges {
  /** Replaces the user's earlier change and adds messages to the outbox. */
  put(change: EmailChange, messages: readonly OutboxMessage[]): Promise<void>
  /** The new address, while its code is waited for in this browser and wrong codes are left to it. */
  find(attempt: Omit<EmailCodeAttempt, 'codeHash'>, now: number): Promise<string | undefined>
  /**
   * Counts the attempt, and with the right code sets and verifies the address, with messages for the outbox, in one
   * step. `in_use`: it belongs to another account by now.
   */
  complete(
    attempt: EmailCodeAttempt,
    messages: readonly OutboxMessage[],
    now: number,
  ): Promise<'changed' | 'wrong' | 'in_use'>
}
