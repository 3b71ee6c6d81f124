import type { Notification as GatehouseNotification, NotificationExplanation } from '@gatehouse/client'
import type { ItemOf } from '../../actions/index.ts'

/*
 * Parts of what the APIs answer that have no name of their own in the client.
 */

/** A delivery of a notification. */
export type Delivery = GatehouseNotification['deliveries'][number]
/** A line of a notification's timeline. */
export type TimelineEntry = GatehouseNotification['timeline'][number]
/** What would happen on one channel. */
export type ExplainedChannel = NotificationExplanation['channels'][number]
/** A delivery that failed for good. */
export type DeadLetter = ItemOf<'listDeadLetters'>
