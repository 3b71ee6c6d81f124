import type { DeliveryPlan } from '../admission/planned.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { Channel } from '../model/channel.ts'
import { resumeAfter } from '../model/delivery/quiet-hours.ts'
import type { EventType } from '../model/notification/event-type.ts'
import type { Data } from '../model/notification/notification.ts'
import { createReason } from '../model/notification/reason.ts'
import type { TimelineEntry } from '../model/notification/timeline.ts'
import type { Profile } from '../store/store.ts'
import { deferredUntil } from './channels.ts'
import { writeMessage } from './message.ts'

/** Nobody carries the channel. */
export const channelIsOff: DeliveryPlan = {
  kind: 'drop',
  outcome: 'undeliverable',
  reason: createReason('channel_off'),
}

/** What a notification's channels are planned from, whether it was just accepted, woke, or was flushed. */
export interface ChannelPlanInput {
  readonly userId: string
  readonly data: Data
  readonly eventType: EventType
  readonly profile: Profile
  readonly catalog: Catalog
  readonly now: number
  /** From when on nothing of it is sent any more. */
  readonly expiresAt?: number | undefined
}

/** When a message of an event that was received at `occurredAt` expires, Unix milliseconds; undefined: never. */
export function expiryOf({ ttlSeconds }: EventType, occurredAt: number): number | undefined {
  return ttlSeconds === undefined ? undefined : occurredAt + ttlSeconds * 1_000
}

/**
 * Plans every channel of a notification that is not to be gathered: it has expired, or all wait for the end of the user's
 * quiet hours (or until it expires in them), or each is addressed and rendered now. `decisions` is told what there was to
 * decide.
 */
export function channelPlanner(
  input: ChannelPlanInput,
  options: NotifyOptions,
  decisions: TimelineEntry[],
): (channel: Channel) => DeliveryPlan {
  const { eventType, profile, now, expiresAt } = input
  const off = (channel: Channel) => options.channelsOff.includes(channel)
  if (expiresAt !== undefined && now >= expiresAt)
    return (channel) => (off(channel) ? channelIsOff : { kind: 'expire', expiresAt })
  const quietEnd = deferredUntil(eventType, profile, options.zone, now)
  if (quietEnd !== undefined) {
    const isQuiet = (at: number) => deferredUntil(eventType, profile, options.zone, at) !== undefined
    const random = Math.random()
    const resumesAt = resumeAfter({ end: quietEnd, spreadMs: options.morningSpreadMs, random, isQuiet })
    const resumeAt = Math.min(resumesAt, expiresAt ?? Number.POSITIVE_INFINITY)
    decisions.push({ at: now, what: 'quiet_hours', detail: { until: new Date(quietEnd).toISOString() } })
    return (channel) => (off(channel) ? channelIsOff : { kind: 'defer', resumeAt })
  }
  return (channel) => {
    if (off(channel)) return channelIsOff
    const written = writeMessage(channel, input, options.locale)
    if (written.missing.length > 0)
      decisions.push({ at: now, what: 'missing_variables', channel, detail: { variables: written.missing } })
    return written.plan
  }
}
