import type { Catalog, CatalogKeeper } from '../catalog/catalog.ts'
import { channels as allChannels, type Channel } from '../model/channel.ts'
import type { QuietHours } from '../model/delivery/quiet-hours.ts'
import { all, suppresses } from '../model/delivery/suppression.ts'
import type { EventType } from '../model/notification/event-type.ts'
import { emptyProfile, type Intake, type Preferences, type Profile, type Suppressions } from '../store/store.ts'
import { allEventTypes, preferenceFor, preferredChannels } from './precedence.ts'

/** What a user may choose for one event type, and what holds now. */
export interface Choice {
  readonly event: string
  readonly title: string
  /** It passes what the user unsubscribed from. */
  readonly critical: boolean
  readonly channels: ReadonlyArray<{ readonly channel: Channel; readonly on: boolean }>
}

/** What a user has chosen, and may choose. */
export interface UserChoices {
  /** Whether the user unsubscribed from everything that is not critical, on every channel but the feed. */
  readonly unsubscribed: boolean
  readonly quietHours?: QuietHours
  readonly zoneinfo?: string
  readonly locale?: string
  readonly choices: readonly Choice[]
}

/** Channels that are turned on and off; the others stay as they are. */
export interface Switches {
  readonly on: readonly Channel[]
  readonly off: readonly Channel[]
}

/** A user's own hand in what reaches them: the preference page, the component and the unsubscribe links end here. */
export interface Choices {
  of(userId: string): Promise<UserChoices>
  /**
   * Turns channels of an event type on, and all others it could use off. What was unsubscribed and is on, is lifted; of
   * what was unsubscribed for every event type, the other event types stay off.
   */
  choose(userId: string, event: string, on: readonly Channel[]): Promise<void>
  /** Turns some channels of an event type, whatever is done to its others meanwhile. */
  turn(userId: string, event: string, switches: Switches): Promise<void>
  /** Quiet hours for every event type without its own; undefined for none. */
  keepQuiet(userId: string, hours: QuietHours | undefined): Promise<void>
  /** Nothing of an event type, or of any (`*`), is mailed any more; repeating it changes nothing. */
  unsubscribe(userId: string, scope: string, detail: string): Promise<void>
  /** Everything but what is critical is neither mailed nor pushed nor texted; false takes that back. */
  unsubscribeAll(userId: string, unsubscribed: boolean, detail: string): Promise<void>
}

type TargetsOf = (channel: Channel, userId: string, profile: Profile) => ReadonlyArray<{ readonly address: string }>

/** What reading and changing choices needs. */
export interface ChoicesOptions {
  readonly intake: Pick<Intake, 'readProfiles'>
  readonly preferences: Preferences
  readonly suppressions: Suppressions
  readonly catalog: CatalogKeeper
  readonly channelsOff: readonly Channel[]
  /** Where a channel reaches the user. */
  readonly targetsOf: TargetsOf
  readonly clock: { now(): number }
}

const reason = 'unsubscribed'
/** What can be unsubscribed from: the feed inside the product stays. */
const outward: readonly Channel[] = ['email', 'push', 'sms']

/** Creates the reader and writer of users' choices. */
export function createChoices(options: ChoicesOptions): Choices {
  const { intake, preferences, suppressions, catalog, channelsOff, targetsOf, clock } = options
  const profileOf = async (userId: string) => (await intake.readProfiles([userId])).users.get(userId) ?? emptyProfile
  const offered = (known: Catalog, eventType: EventType) => channelsOf(known, eventType, channelsOff)
  const turn = async (userId: string, event: string, to: (channel: Channel) => boolean | undefined) => {
    const known = await catalog.current()
    const eventType = known.eventTypes.get(event)
    if (!eventType) return
    const could = offered(known, eventType)
    const [on, off] = [true, false].map((state) => could.filter((channel) => to(channel) === state))
    const others = [...known.eventTypes.keys()].filter((each) => each !== event)
    const switches = {
      on: on ?? [],
      off: off ?? [],
      otherwise: eventType.channels,
      // a critical event type passes what is unsubscribed: turning it on takes nothing back
      ...(eventType.priority === 'critical' ? {} : { others }),
    }
    await preferences.switchChannels(userId, event, switches, clock.now())
  }
  return {
    async of(userId) {
      const [known, profile] = await Promise.all([catalog.current(), profileOf(userId)])
      const shown = [...known.eventTypes.values()].filter(({ sensitive }) => !sensitive)
      const reading = {
        profile,
        now: clock.now(),
        addressesOf: (channel: Channel) => targetsOf(channel, userId, profile).map(({ address }) => address),
      }
      const { zoneinfo, locale } = profile.recipient ?? {}
      const quietHours = preferenceFor(profile, allEventTypes)?.quietHours
      return {
        unsubscribed: outward.every((channel) => isUnsubscribed(reading, channel, { event: all, critical: false })),
        ...(quietHours === undefined ? {} : { quietHours }),
        ...(zoneinfo === undefined ? {} : { zoneinfo }),
        ...(locale === undefined ? {} : { locale }),
        choices: shown
          .map((eventType) => choiceOf(eventType, offered(known, eventType), reading))
          .filter(({ channels }) => channels.length > 0)
          .sort((a, b) => a.title.localeCompare(b.title)),
      }
    },
    choose: (userId, event, on) => turn(userId, event, (channel) => on.includes(channel)),
    turn: (userId, event, { on, off }) =>
      turn(userId, event, (channel) => on.includes(channel) || (off.includes(channel) ? false : undefined)),
    keepQuiet: (userId, quietHours) => preferences.setQuietHours(userId, quietHours, clock.now()),
    async unsubscribe(userId, scope, detail) {
      await suppressions.add([{ userId, channel: 'email', address: all, scope, reason, detail }], clock.now())
    },
    async unsubscribeAll(userId, unsubscribed, detail) {
      const entries = outward.map((channel) => ({ userId, channel, address: all, scope: all, reason, detail }) as const)
      if (unsubscribed) await suppressions.add(entries, clock.now())
      else await suppressions.lift({ userId, scope: all, reason })
    },
  }
}

/** Whose choices are read, and when. */
interface Reading {
  readonly profile: Profile
  readonly now: number
  addressesOf(channel: Channel): readonly string[]
}

function choiceOf(eventType: EventType, offered: readonly Channel[], reading: Reading): Choice {
  const { event } = eventType
  const critical = eventType.priority === 'critical'
  const wanted = preferredChannels(reading.profile, event)?.channels ?? eventType.channels
  return {
    event,
    title: eventType.title ?? titleOf(event),
    critical,
    channels: offered.map((channel) => ({
      channel,
      on: wanted.includes(channel) && !isUnsubscribed(reading, channel, { event, critical }),
    })),
  }
}

/** The channels that an event type has by default or has texts for, and that somebody carries. */
function channelsOf(known: Catalog, eventType: EventType, off: readonly Channel[]): Channel[] {
  const written = known.channels(eventType.templateId)
  return allChannels.filter(
    (channel) => !off.includes(channel) && (eventType.channels.includes(channel) || written.includes(channel)),
  )
}

/** Whether the user's own wish keeps everything of an event type from every address that the user has on a channel. */
function isUnsubscribed(
  { profile, now, addressesOf }: Reading,
  channel: Channel,
  about: { readonly event: string; readonly critical: boolean },
): boolean {
  const wishes = profile.suppressions.filter((entry) => entry.reason === reason)
  const addresses = addressesOf(channel)
  return (addresses.length > 0 ? addresses : [all]).every((address) =>
    wishes.some((entry) => suppresses(entry, { ...about, channel, address, now })),
  )
}

/** `order.shipped` for people who were given no better words: "Order shipped". */
function titleOf(event: string): string {
  const words = event.replaceAll(/[._-]+/g, ' ').trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}
