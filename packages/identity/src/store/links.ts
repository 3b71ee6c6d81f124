import type { OutboxMessage } from './outbox.ts'

/** What a mailed link is for. */
export type LinkPurpose = 'verify' | 'reset'

/**
 * A link that was mailed to a user. It works once, and only while the account has the address that it was mailed to and,
 * when `credentialVersion` is there, the credentials of that moment.
 */
export interface MailedLink {
  /** Of the token in the link. */
  readonly hash: string
  readonly purpose: LinkPurpose
  readonly userId: string
  readonly email: string
  /** Left out for links that let nobody in. */
  readonly credentialVersion: string | undefined
  readonly expiresAt: number
}

export interface Links {
  /** Puts the link in the place of the user's earlier one of its kind, and its mail into the outbox. False when it does not fit the account any more. */
  put(link: MailedLink, message: OutboxMessage): Promise<boolean>
  /** The link while it works; looking uses nothing up. */
  find(hash: string, purpose: LinkPurpose, now: number): Promise<MailedLink | undefined>
  /** Uses the link up: its facts for exactly one caller, ever. */
  use(hash: string, purpose: LinkPurpose, now: number): Promise<MailedLink | undefined>
}
