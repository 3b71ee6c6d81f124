import type { Channel } from '../model/channel.ts'
import type { QuietHours } from '../model/delivery/quiet-hours.ts'
import type { Preference, Profile } from '../store/store.ts'

/** The scope of a preference for every event type without its own. */
export const allEventTypes = '*'

/** The stored preference of a user for an event type, or for `*`. */
export function preferenceFor({ preferences }: Profile, eventType: string): Preference | undefined {
  return preferences.find((preference) => preference.eventType === eventType)
}

/** The channels that a user prefers, and where that is stored: for the event type, else for `*`. */
export function preferredChannels(
  profile: Profile,
  eventType: string,
): { readonly channels: readonly Channel[]; readonly because: 'preference' | 'preference for *' } | undefined {
  const own = preferenceFor(profile, eventType)?.channels
  if (own) return { channels: own, because: 'preference' }
  const all = preferenceFor(profile, allEventTypes)?.channels
  return all && { channels: all, because: 'preference for *' }
}

/** The quiet hours of a user for an event type, else those for `*`. */
export function quietHoursFor(profile: Profile, eventType: string): QuietHours | undefined {
  return preferenceFor(profile, eventType)?.quietHours ?? preferenceFor(profile, allEventTypes)?.quietHours
}
