import type { Counters } from '../admission/caps.ts'
import type { Retention } from '../config/options.ts'
import type { Channel } from '../model/channel.ts'
import type { QuietHours } from '../model/delivery/quiet-hours.ts'
import type { Suppression, SuppressionReason } from '../model/delivery/suppression.ts'
import type { GatheredWindow } from './waiting.ts'

/** Whom we can reach, and where. */
export interface Recipient {
  readonly userId: string
  readonly email?: string
  readonly phoneNumber?: string
  readonly locale?: string
  readonly zoneinfo?: string
}

/** What a user wants for one event type, or for `*`. What is left out falls through to `*`, then to the event type. */
export interface Preference {
  readonly eventType: string
  /** An empty set means none. */
  readonly channels?: readonly Channel[]
  readonly quietHours?: QuietHours
}

/** A device with its push token; times are Unix milliseconds. */
export interface Device {
  readonly deviceId: string
  readonly token: string
  /** The push service it belongs to, such as `fcm`, `apns` or `web`. */
  readonly service: string
  readonly registeredAt: number
  readonly deadAt?: number
  /** What the push service said. */
  readonly deadReason?: string
}

/** Everything that planning needs to know about a user. */
export interface Profile {
  /** Since the user's first admission, and the same until they are erased. */
  readonly generation?: string
  readonly recipient?: Recipient
  readonly preferences: readonly Preference[]
  readonly devices: readonly Device[]
  readonly suppressions: readonly Suppression[]
}

/** The profile of a user of whom nothing is stored. */
export const emptyProfile: Profile = { preferences: [], devices: [], suppressions: [] }

/** Where users can be reached. */
export interface Recipients {
  find(userId: string): Promise<Recipient | undefined>
  /** Those that the search selects, of every bucket, in the order of their ids. */
  search(search: RecipientSearch, after: string, limit: number): Promise<Recipient[]>
  put(recipients: readonly Recipient[], now: number): Promise<void>
  /** Puts one that is as it was read; false where it was changed since, or is gone. */
  replace(recipient: Recipient, before: Recipient, now: number): Promise<boolean>
  /** Puts a user, also one of whom nothing else is known, into a time zone, and leaves all else as it is. */
  setZoneinfo(userId: string, zoneinfo: string, now: number): Promise<void>
  /** Takes what another service knows of a user: only the fields that it changed since it last told are written. */
  feed(recipient: Recipient, now: number): Promise<void>
  remove(userId: string): Promise<boolean>
}

/** Selects recipients; each member narrows it. */
export interface RecipientSearch {
  /** The beginning of the user id. */
  readonly prefix?: string | undefined
  /** The whole address, in lower case. */
  readonly email?: string | undefined
  /** The whole number, as E.164. */
  readonly phoneNumber?: string | undefined
}

/** What users want, by event type. */
export interface Preferences {
  list(userId: string): Promise<readonly Preference[]>
  /** Stores it; where one is expected, only as long as it is that. False if it is not. */
  put(userId: string, preference: Preference, now: number, expected?: Preference): Promise<boolean>
  /**
   * Turns channels of an event type on and off, on top of what holds by then: its entry, else that of `*`, else
   * `otherwise`. A channel that is on is no longer unsubscribed from; where it was for every event type, it stays so
   * for the `others`, each by itself. Left out: what is for every event type stays.
   */
  switchChannels(
    userId: string,
    eventType: string,
    switches: {
      readonly on: readonly Channel[]
      readonly off: readonly Channel[]
      readonly otherwise: readonly Channel[]
      readonly others?: readonly string[]
    },
    now: number,
  ): Promise<void>
  /** Sets the quiet hours of the entry for `*`, whatever its channels are; undefined takes them away. */
  setQuietHours(userId: string, hours: QuietHours | undefined, now: number): Promise<void>
  remove(userId: string, eventType: string): Promise<boolean>
}

/** The devices of users. */
export interface Devices {
  list(userId: string): Promise<readonly Device[]>
  /**
   * Registers a device or its new token; a dead one lives again. Another device that had this token, of whomever, is
   * removed: a token belongs to the one who registered it last. Never leaves a user with more devices than `limit`
   * (default: that of the options): the dead are dropped first, then those that were registered the longest ago.
   * Answers the dropped.
   */
  put(
    userId: string,
    device: Omit<Device, 'registeredAt' | 'deadAt' | 'deadReason'>,
    now: number,
    limit?: number,
  ): Promise<readonly Device[]>
  remove(userId: string, deviceId: string): Promise<boolean>
  /** Marks a token dead unless it was registered again after `at`. True when it was alive. */
  markDead(userId: string, token: string, at: number, reason: string): Promise<boolean>
}

/** A suppression as it is stored. */
export interface SuppressionRecord extends Suppression {
  readonly id: string
  readonly userId: string
  readonly since: number
  readonly detail?: string
}

/** A suppression before it is stored. */
export type NewSuppression = Omit<SuppressionRecord, 'id' | 'since'>

/** Which suppressions; what is left out is any. */
export interface SuppressionFilter {
  readonly ids?: readonly string[]
  readonly userId?: string
  readonly channel?: Channel
  readonly address?: string
  readonly scope?: string
  readonly reason?: SuppressionReason
  /** Only complaints, or all but those. */
  readonly complaints?: boolean
}

/** How many suppressions a filter names, and how many of them are complaints. */
export interface SuppressionCount {
  readonly matched: number
  readonly complaints: number
}

/** Addresses that nothing, or not everything, is sent to. */
export interface Suppressions {
  /** Newest first, `before` an id; those that ended by themselves are left out. */
  list(
    filter: SuppressionFilter,
    limit: number,
    before: string | undefined,
    now: number,
  ): Promise<readonly SuppressionRecord[]>
  /** Adds those that are not there yet; of one that is, the later end counts. Answers each as it now stands. */
  add(entries: readonly NewSuppression[], now: number): Promise<readonly SuppressionRecord[]>
  count(filter: SuppressionFilter): Promise<SuppressionCount>
  /** Takes away what the filter names; answers how many. */
  lift(filter: SuppressionFilter): Promise<number>
}

/** A window that gathers events of a type for a user. */
export interface OpenWindow {
  readonly event: string
  readonly items: number
  /** Unix milliseconds. */
  readonly flushAt: number
}

/** What counts for a user now: what they got in their cap windows, and what is gathered for them. */
export interface Standings {
  read(userId: string): Promise<{ readonly counters: Counters; readonly windows: readonly OpenWindow[] }>
  /** What is gathered of an event type; undefined where no window is open. */
  readWindow(userId: string, event: string): Promise<GatheredWindow | undefined>
}

/** What is known about a user, and for how long anything is. */
export interface Privacy {
  /** Every row about the user, by table. */
  exportUser(userId: string): Promise<Readonly<Record<string, readonly unknown[]>>>
  /** Removes every row about the user; answers how many. */
  eraseUser(userId: string): Promise<number>
  /** Removes a batch of each kind that was kept long enough; answers how many rows. */
  purge(bucket: number, retention: Retention, now: number): Promise<number>
}
