import type { Channel } from '../model/channel.ts'
import type { DeliveryState } from '../model/delivery-state.ts'

/** One message as a provider would have carried it. */
export interface MailboxEntry {
  readonly id: string
  readonly deliveryId: string
  readonly userId: string
  readonly channel: Channel
  readonly address: string
  readonly content: {
    readonly subject?: string
    readonly body: string
    readonly html?: string
    readonly receiptToken?: string
  }
  readonly at: number
}

/** Where an entry stands by now. */
export interface MailboxStanding {
  /** Left out when there is no delivery of it any more, or never was. */
  readonly state?: DeliveryState
  /** The push token it went to is dead. */
  readonly deadToken: boolean
}

/** What the embedded mode sends to, instead of the world. */
export interface Mailbox {
  add(entries: readonly MailboxEntry[]): Promise<void>
  find(id: string): Promise<MailboxEntry | undefined>
  list(limit: number): Promise<readonly MailboxEntry[]>
  /** By the entries' ids. */
  standings(entries: readonly MailboxEntry[]): Promise<ReadonlyMap<string, MailboxStanding>>
}
