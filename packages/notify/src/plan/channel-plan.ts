import type { DeliveryPlan } from '../admission.ts'
import type { Catalog } from '../catalog.ts'
import type { Channel } from '../channel.ts'
import type { EventType } from '../event-type.ts'
import type { Data, TimelineEntry } from '../notification.ts'
import type { NotifyOptions } from '../options.ts'
import type { Profile } from '../store.ts'
import { deferredUntil } from './channels.ts'
import { writeMessage } from './message.ts'

/** Nobody carries the channel. */
export const channelIsOff: DeliveryPlan = { kind: 'drop', outcome: 'undeliverable', reason: 'the channel is off' }

/** What a notification's channels are planned from, whether it was just accepted, woke, or was flushed. */
export interface ChannelPlanInput {
  readonly userId: string
  readonly data: Data
  readonly eventType: EventType
  readonly profile: Profile
  readonly catalog: Catalog
  readonly now: number
}

/**
 * Plans every channel of a notification that is not to be gathered: all wait for the end of the user's quiet hours, or
 * each is addressed and rendered now. `decisions` is told what there was to decide.
 */
export function channelPlanner(
  { userId, data, eventType, profile, catalog, now }: ChannelPlanInput,
  options: NotifyOptions,
  decisions: TimelineEntry[],
): (channel: Channel) => DeliveryPlan {
  const off = (channel: Channel) => options.channelsOff.includes(channel)
  const quietEnd = deferredUntil(eventType, profile, options.zone, now)
  if (quietEnd !== undefined) {
    const wakeAt = quietEnd + Math.floor(Math.random() * options.morningSpreadMs)
    decisions.push({ at: now, what: 'quiet_hours', detail: { until: new Date(quietEnd).toISOString() } })
    return (channel) => (off(channel) ? channelIsOff : { kind: 'defer', wakeAt })
  }
  return (channel) => {
    if (off(channel)) return channelIsOff
    const written = writeMessage(channel, eventType, data, userId, profile, catalog, options.locale, now)
    if (written.missing.length > 0)
      decisions.push({ at: now, what: 'missing_variables', channel, detail: { variables: written.missing } })
    return written.plan
  }
}
