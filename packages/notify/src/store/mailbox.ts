import type { Channel } from '../channel.ts'

/** One message as a provider would have carried it. */
export interface MailboxEntry {
  readonly id: string
  readonly deliveryId: string
  readonly userId: string
  readonly channel: Channel
  readonly address: string
  readonly content: { readonly subject?: string; readonly body: string; readonly html?: string }
  readonly at: number
}

/** What the embedded mode sends to, instead of the world. */
export interface Mailbox {
  add(entries: readonly MailboxEntry[]): Promise<void>
  find(id: string): Promise<MailboxEntry | undefined>
  list(limit: number): Promise<readonly MailboxEntry[]>
}
