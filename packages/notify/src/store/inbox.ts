import type { Channel } from '../model/channel.ts'
import type { DeliveryState } from '../model/delivery/delivery-state.ts'
import type { InboxChange } from '../model/notification/inbox-change.ts'

/** An item of the in-app feed; times are Unix milliseconds. */
export interface InboxItem {
  readonly id: string
  readonly event: string
  readonly subject?: string
  readonly body: string
  readonly createdAt: number
  readonly seenAt?: number
  readonly readAt?: number
  readonly archivedAt?: number
}

/** The counts of an inbox as of a number: every change up to `sequence` is in them, and none after. */
export interface InboxCounts {
  /** Grows with every change of this inbox, whatever process makes it; 0 for one that never held anything. */
  readonly sequence: number
  /** Items that are not archived. */
  readonly total: number
  readonly unseen: number
  readonly unread: number
}

/** Items and counts of one moment. */
export interface InboxPage {
  readonly items: readonly InboxItem[]
  readonly counts: InboxCounts
}

/** Which items of a feed, newest first. */
export interface InboxFilter {
  readonly limit: number
  /** The item to read on from. */
  readonly before?: string
  readonly unread?: boolean
  /** Default: those that are not archived. */
  readonly archived?: 'only' | 'also'
}

/** Some items by id, or all that are not archived and came no later than a number. */
export type InboxChoice = { readonly ids: readonly string[] } | { readonly upTo?: number }

/** What has changed in an inbox after a number: an item as it is now stands for all that happened to it. */
export interface InboxNews {
  readonly counts: InboxCounts
  /** In order of their last change, each with its number. */
  readonly items: ReadonlyArray<InboxItem & { readonly changed: number }>
}

/** In-app feeds with their counts. */
export interface Inbox {
  /** Stores items, counted; one that is there already stays as it is. */
  put(
    items: ReadonlyArray<
      Pick<InboxItem, 'id' | 'event' | 'subject' | 'body' | 'createdAt'> & { readonly userId: string }
    >,
  ): Promise<void>
  page(userId: string, filter: InboxFilter): Promise<InboxPage>
  /** Changes those that are not so yet; answers which, and the counts after it. */
  change(
    userId: string,
    change: InboxChange,
    choice: InboxChoice,
    now: number,
  ): Promise<{ readonly changed: readonly string[]; readonly counts: InboxCounts }>
  /**
   * Up to `limit` changes of each inbox after a number; none where that is left out. Users whose bucket cannot be read now
   * are missing.
   */
  news(
    requests: ReadonlyArray<{ readonly userId: string; readonly after?: number }>,
    limit: number,
  ): Promise<ReadonlyMap<string, InboxNews>>
  /**
   * Tells whose inbox may have changed, from whatever process, until the answer is called; `missed` when that may have
   * been told while nobody listened. A hint: what changed is read by its number.
   */
  listen(changed: (userId: string) => void, missed: () => void): () => Promise<void>
}

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
    /** The event behind the message. */
    readonly event?: string
    /** The push service of the device, such as `fcm` or `apns`. */
    readonly service?: string
    /** Header fields of a mail beside those of every mail. */
    readonly headers?: Readonly<Record<string, string>>
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

/** Which messages of the mailbox, newest first. */
export interface MailboxFilter {
  readonly limit: number
  readonly channel?: Channel
  readonly userId?: string
  /** The message to read on from. */
  readonly before?: string
  /** Those of these deliveries. */
  readonly deliveryIds?: readonly string[]
}

/** What the embedded mode sends to, instead of the world. */
export interface Mailbox {
  add(entries: readonly MailboxEntry[]): Promise<void>
  find(id: string): Promise<MailboxEntry | undefined>
  list(filter: MailboxFilter): Promise<readonly MailboxEntry[]>
  /** By the entries' ids. */
  standings(entries: readonly MailboxEntry[]): Promise<ReadonlyMap<string, MailboxStanding>>
}
