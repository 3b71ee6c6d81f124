import type { Channel } from '../channel.ts'
import type { EventType } from '../notification/event-type.ts'
import type { Content } from '../notification/notification.ts'

/** A short link of a message, and where it leads. */
export interface ShortLink {
  readonly id: string
  /** An http(s) address, as the URL parser writes it. */
  readonly target: string
  /** Unix milliseconds. */
  readonly expiresAt: number
}

/** A text whose links lead through us, and the links that are stored with its delivery. */
export interface Shortened {
  readonly content: Content
  readonly links: readonly ShortLink[]
}

/** Whom a text is for, and what decides whether its links are tracked. */
export interface ShortenInput {
  readonly userId: string
  readonly channel: Channel
  readonly eventType: Pick<EventType, 'tracking' | 'sensitive'>
  readonly content: Content
  /** The hosts that its template links to. An address on another one may be the words of a user, and stays. */
  readonly linkHosts: ReadonlySet<string>
  /** Unix milliseconds. */
  readonly now: number
}

/** Replaces the links of a text by short ones, where its event type tracks clicks on its channel. */
export type ShortenLinks = (input: ShortenInput) => Shortened
