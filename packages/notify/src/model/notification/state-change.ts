import type { Channel } from '../channel.ts'
import type { DeliveryState } from '../delivery/delivery-state.ts'
import { channelOf, notificationIdOf } from '../id.ts'

/** A delivery whose state changed, and when. */
export interface StateChange {
  /** It says the notification and the channel. */
  readonly deliveryId: string
  readonly userId: string
  /** The event type; absent when the notification was removed. */
  readonly event?: string | undefined
  readonly state: DeliveryState
  /** Why nothing more is sent, where the state does not say so. */
  readonly ended?: string | undefined
  /** Unix milliseconds. */
  readonly at: number
}

/** A state change as consumers of the event stream see it. */
export type ChangeRecord = Readonly<{
  delivery_id: string
  notification_id: string
  user_id: string
  channel: Channel
  event?: string
  state: DeliveryState
  ended?: string
  /** RFC 3339. */
  at: string
}>

/** Formats a state change for its consumers. */
export function formatChange({ deliveryId, userId, event, state, ended, at }: StateChange): ChangeRecord {
  return {
    delivery_id: deliveryId,
    notification_id: notificationIdOf(deliveryId),
    user_id: userId,
    channel: channelOf(deliveryId) as Channel,
    ...(event === undefined ? {} : { event }),
    state,
    ...(ended === undefined ? {} : { ended }),
    at: new Date(at).toISOString(),
  }
}
