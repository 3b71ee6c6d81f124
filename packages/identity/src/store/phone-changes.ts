import type { OutboxMessage } from './operations.ts'

/** A new phone number of a user, which waits for the code that was sent to it. */
export interface PhoneChange {
  readonly userId: string
  /** E.164. */
  readonly phoneNumber: string
  /** Of the browser's own cookie and the session. */
  readonly browserHash: string
  /** Of the challenge, which the page keeps. */
  readonly challengeHash: string
  /** Of code and challenge. */
  readonly codeHash: string
  readonly expiresAt: number
}

/** A code that was entered to prove a phone number. */
export type PhoneCodeAttempt = Pick<PhoneChange, 'userId' | 'browserHash' | 'challengeHash' | 'codeHash'>

/** Phone numbers that wait for their proof: one for each user. */
export interface PhoneChanges {
  /** Replaces the user's earlier change and adds messages to the outbox. */
  put(change: PhoneChange, messages: readonly OutboxMessage[]): Promise<void>
  /** The new number, while its code is waited for in this browser and session and wrong codes are left to it. */
  find(attempt: Omit<PhoneCodeAttempt, 'codeHash'>, now: number): Promise<string | undefined>
  /**
   * Counts the attempt, and with the right code sets and verifies the number, with messages for the outbox, in one step.
   * `changed` is returned to exactly one caller.
   */
  complete(attempt: PhoneCodeAttempt, messages: readonly OutboxMessage[], now: number): Promise<'changed' | 'wrong'>
  /** Removes the user's number, and a change that waits; false when there was none, and then without the messages. */
  clear(userId: string, messages: readonly OutboxMessage[], now: number): Promise<boolean>
}
