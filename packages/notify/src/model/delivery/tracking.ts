import type { Channel } from '../channel.ts'

/** The levels of tracking. */
export const trackings = ['off', 'opens', 'clicks', 'on'] as const

/** What a message records about its reader: nothing, when it is opened, which of its links are followed, or both. */
export type Tracking = (typeof trackings)[number]

/** What messages record, on every channel or by channel. Only the pixel of a mail records opens. */
export type TrackingRule = Tracking | Readonly<Partial<Record<Channel, Tracking>>>

/** The tracking of a channel; undefined where the rule does not say. */
export function trackingOf(rule: TrackingRule, channel: Channel): Tracking | undefined {
  return typeof rule === 'string' ? rule : rule[channel]
}
