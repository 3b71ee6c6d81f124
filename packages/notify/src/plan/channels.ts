import { type Channel, sortChannels } from '../model/channel.ts'
import { quietUntil } from '../model/delivery/quiet-hours.ts'
import type { EventType } from '../model/notification/event-type.ts'
import { preferredChannels, quietHoursFor } from '../preferences/precedence.ts'
import type { Profile } from '../store/store.ts'

/** The channels of a notification, and whose word it was. */
export interface ChosenChannels {
  readonly channels: readonly Channel[]
  readonly because: 'request' | 'preference' | 'preference for *' | 'event type'
}

/** The request's channels, else the user's preference for the event type, else that for `*`, else the event type's. */
export function chooseChannels(
  requested: readonly Channel[] | undefined,
  eventType: EventType,
  profile: Profile,
): ChosenChannels {
  if (requested) return { channels: sortChannels(requested), because: 'request' }
  const preferred = preferredChannels(profile, eventType.event)
  if (preferred) return { ...preferred, channels: sortChannels(preferred.channels) }
  return { channels: sortChannels(eventType.channels), because: 'event type' }
}

/** Whether a stored preference keeps this event type off the channel; a missing preference excludes nothing. */
export function isExcluded(channel: Channel, event: string, profile: Profile): boolean {
  const preferred = preferredChannels(profile, event)
  return preferred !== undefined && !preferred.channels.includes(channel)
}

/** When a notification that is planned now may be sent, if not now: the end of the user's quiet hours. */
export function deferredUntil(eventType: EventType, profile: Profile, zone: string, now: number): number | undefined {
  if (eventType.priority === 'critical') return undefined
  const quiet = quietHoursFor(profile, eventType.event)
  return quiet && quietUntil(quiet, profile.recipient?.zoneinfo ?? zone, now)
}
