import type { NotificationRecord } from '../model/notification/notification.ts'
import type { NotificationFilter } from '../model/notification/notification-filter.ts'

/** A notification with its deliveries, without its timeline. */
export type NotificationSummary = Omit<NotificationRecord, 'timeline' | 'expiresAt' | 'dedupKey'>

/** How far a search goes at most. */
export interface SearchBounds {
  /** Rows that it looks at. */
  readonly maxRows: number
  /** Milliseconds after which it looks at no more. */
  readonly maxMs: number
}

/** Which page of a search. */
export interface SearchRequest extends SearchBounds {
  readonly limit: number
  /** Where the page before it ended. */
  readonly before?: string
}

/** What a search found, the newest first, and how far it looked. */
export interface SearchPage<Item> {
  readonly items: readonly Item[]
  /** Where to search on; undefined once everything was looked at. */
  readonly next: string | undefined
  /** Everything accepted since then was looked at, Unix milliseconds; undefined where there was nothing to look at. */
  readonly searchedUntil: number | undefined
}

/** By which of a provider's ids deliveries are searched. */
export interface ProviderMessage {
  readonly provider?: string
  readonly providerMessageId: string
}

/** Searches that walk back in time by id, for want of an index: bounded, whatever the tables hold. */
export interface Search {
  notifications(filter: NotificationFilter, request: SearchRequest): Promise<SearchPage<NotificationSummary>>
  /** The ids of deliveries that a provider knows by an id of its own. */
  deliveries(message: ProviderMessage, request: SearchRequest): Promise<SearchPage<string>>
}
