import { type Channel, channels } from '../model/channel.ts'
import type { EventType } from '../model/event-type.ts'
import { type QuietHours, quietUntil } from '../model/quiet-hours.ts'
import type { Preference, Profile } from '../store/store.ts'

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
  if (requested) return { channels: inOrder(requested), because: 'request' }
  const own = preferenceFor(profile, eventType.event)?.channels
  if (own) return { channels: inOrder(own), because: 'preference' }
  const all = preferenceFor(profile, '*')?.channels
  if (all) return { channels: inOrder(all), because: 'preference for *' }
  return { channels: inOrder(eventType.channels), because: 'event type' }
}

/** Whether a stored preference keeps this event type off the channel; a missing preference excludes nothing. */
export function isExcluded(channel: Channel, event: string, profile: Profile): boolean {
  const stored = preferenceFor(profile, event)?.channels ?? preferenceFor(profile, '*')?.channels
  return stored !== undefined && !stored.includes(channel)
}

/** The quiet hours that hold for an event type: the user's entry for it, else that for `*`. */
function quietHoursFor(event: string, profile: Profile): QuietHours | undefined {
  return preferenceFor(profile, event)?.quietHours ?? preferenceFor(profile, '*')?.quietHours
}

/** When a notification that is asked for now may be sent, if not now: the end of the user's quiet hours. */
export function deferredUntil(eventType: EventType, profile: Profile, zone: string, now: number): number | undefined {
  if (eventType.priority === 'critical') return undefined
  const quiet = quietHoursFor(eventType.event, profile)
  return quiet && quietUntil(quiet, profile.recipient?.zoneinfo ?? zone, now)
}

function preferenceFor(profile: Profile, eventType: string): Preference | undefined {
  return profile.preferences.find((preference) => preference.eventType === eventType)
}

function inOrder(chosen: readonly Channel[]): readonly Channel[] {
  return chosen.length < 2 ? chosen : channels.filter((channel) => chosen.includes(channel))
}
