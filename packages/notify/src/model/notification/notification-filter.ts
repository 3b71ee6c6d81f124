import type { Channel } from '../channel.ts'
import type { DeliveryState } from '../delivery/delivery-state.ts'
import type { Outcome } from '../delivery/outcome.ts'
import type { DeliveryRecord } from './notification.ts'
import type { Priority } from './priority.ts'

/** What a delivery is searched by: one delivery has all of it. What is left out is any. */
export interface DeliveryCriteria {
  readonly channel?: Channel
  readonly state?: DeliveryState
  readonly outcome?: Outcome
  readonly provider?: string
}

/** What notifications are searched by; what is left out is any. */
export interface NotificationFilter extends DeliveryCriteria {
  readonly userId?: string
  readonly event?: string
  readonly priority?: Priority
  /** The key as its producer sent it. */
  readonly dedupKey?: string
  /** From when on it was accepted, Unix milliseconds, by the time in its id. */
  readonly from?: number
  /** Before when it was accepted. */
  readonly to?: number
}

/** Whether one of the deliveries has all that is searched for; without criteria any notification has. */
export function hasMatchingDelivery(deliveries: readonly DeliveryRecord[], criteria: DeliveryCriteria): boolean {
  const { channel, state, outcome, provider } = criteria
  if ([channel, state, outcome, provider].every((each) => each === undefined)) return true
  return deliveries.some(
    (delivery) =>
      (channel === undefined || delivery.channel === channel) &&
      (state === undefined || delivery.state === state) &&
      (outcome === undefined || delivery.outcome === outcome) &&
      (provider === undefined || delivery.provider === provider),
  )
}
