import type { Channel } from '../channel.ts'
import type { TrackingRule } from '../delivery/tracking.ts'
import type { Priority } from './priority.ts'

/** How like-type events are gathered into one notification. */
interface Aggregation {
  /** Items above which one combined notification is sent. */
  readonly threshold: number
  /** Path of the actor in `data`, dots between members. */
  readonly actor: string
}

/** Most events of one type that are taken in a span of time. */
export interface EventRate {
  readonly limit: number
  readonly perSeconds: number
}

/** What is known about an event type. */
export interface EventType {
  readonly event: string
  /** What people are told it is, where they choose what reaches them. */
  readonly title?: string
  readonly priority: Priority
  /** Where no preference says otherwise. */
  readonly channels: readonly Channel[]
  readonly templateId: string
  readonly aggregation?: Aggregation
  readonly rate?: EventRate
  /** Whether messages tell when they are opened and which links are followed; left out: as the service's setting says. */
  readonly tracking?: TrackingRule
  /** How long after its event a message may still be sent, in seconds; left out: however late it is. */
  readonly ttlSeconds?: number
  /** Whether a message whose call timed out, and may have been sent, goes to the next provider; left out: see {@link failsOverOnTimeout}. */
  readonly failoverOnTimeout?: boolean
  /** Body and data are erased after sending and never in a timeline. */
  readonly sensitive: boolean
}

/**
 * Whether a doubled message is the lesser evil for an event type, where nobody knows if the first was sent. By default it
 * is, but for critical SMS: two one-time codes confuse, and each costs.
 */
export function failsOverOnTimeout({ failoverOnTimeout, priority }: EventType, channel: Channel): boolean {
  return failoverOnTimeout ?? !(priority === 'critical' && channel === 'sms')
}
