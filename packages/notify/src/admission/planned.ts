import type { Channel } from '../model/channel.ts'
import type { ShortLink } from '../model/delivery/short-link.ts'
import type { Data, Message } from '../model/notification/notification.ts'
import type { Priority } from '../model/notification/priority.ts'
import type { Reason } from '../model/notification/reason.ts'
import type { TemplateVersion, TimelineEntry, TimelineEntryOf } from '../model/notification/timeline.ts'

/** The plan of one channel of a notification. */
export type DeliveryPlan =
  | {
      readonly kind: 'send'
      readonly message: Message
      /** What the message was rendered from. */
      readonly template?: TemplateVersion
      readonly links?: readonly ShortLink[]
    }
  | { readonly kind: 'defer'; readonly resumeAt: number }
  | { readonly kind: 'aggregate' }
  | { readonly kind: 'drop'; readonly outcome: 'no_recipient' | 'undeliverable'; readonly reason: Reason }
  | { readonly kind: 'exclude'; readonly reason: Reason }
  | { readonly kind: 'fail'; readonly cause: string; readonly reason: Reason }
  /** It was accepted, resumed or flushed too late; `expiresAt` in Unix milliseconds. */
  | { readonly kind: 'expire'; readonly expiresAt: number }

/** One channel of a planned notification. */
export interface PlannedDelivery {
  readonly channel: Channel
  /** Its composed dedup key, where there is one to look up and to record. */
  readonly logKey?: string
  readonly plan: DeliveryPlan
}

/** A notification before its admission. */
export interface PlannedNotification {
  readonly id: string
  readonly userId: string
  readonly event: string
  readonly data: Data
  readonly priority: Priority
  readonly acceptedAt: number
  /** When it expires, Unix milliseconds: nothing of it is sent from then on. */
  readonly expiresAt?: number
  readonly sensitive: boolean
  readonly dedupKey?: string
  readonly requested?: readonly Channel[]
  readonly decisions: readonly TimelineEntry[]
  readonly deliveries: readonly PlannedDelivery[]
  /** The pending item it becomes when it is aggregated. */
  readonly item?: { readonly actor: string; readonly flushAt: number }
  /** Which of its rows exist already: it was deferred, or its window closed. */
  readonly stored: 'no' | 'notification' | 'deliveries'
  /** Why no cap counts it. */
  readonly free?: 'fallback' | 'replay'
  /** The dead letter that it was, from where it waited: it can be stopped as long as it waits again. */
  readonly letter?: object
}

/** A stored row that an admission removes in its own transaction, so that it happens once. */
export type Settled = { readonly kind: 'scheduled' | 'deferred'; readonly id: string } | SettledWindow

/** A closed window, or some of its items. */
export interface SettledWindow {
  readonly kind: 'window'
  readonly id: string
  /** Only these of its items; all of them where it is left out. */
  readonly items?: readonly string[]
  /** Whether the remaining items may still be combined; without it each is sent by itself. */
  readonly keepsTogether?: boolean
  /** Appended to the timeline of each of its items: into which notification they were combined. */
  readonly timelineEntry?: Pick<TimelineEntryOf<'combined'> | TimelineEntryOf<'excluded'>, 'what' | 'detail'>
  /** Its items are sensitive and none of them is sent by itself: their data is erased. */
  readonly erases?: boolean
}

/** What is admitted as a whole or not at all. */
export interface AdmissionUnit {
  readonly settles?: Settled
  /** The notification that it sends again, of the same user: it must still have its data. */
  readonly resendOf?: string
  readonly notifications: readonly PlannedNotification[]
}
