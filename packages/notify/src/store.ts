import type { AdmissionUnit, CapRules, Counters, Decided } from './admission.ts'
import type { Channel } from './channel.ts'
import type { DeliveryReport } from './delivery-state.ts'
import type { EventRate, EventType } from './event-type.ts'
import type { Data, Message, NotificationRecord, NotifyRequest, Target } from './notification.ts'
import type { BreakerRules, Retention } from './options.ts'
import type { QuietHours } from './quiet-hours.ts'
import type { TemplateText } from './template.ts'
import type { StreamedEvent } from './topic.ts'

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

export interface Device {
  readonly deviceId: string
  readonly token: string
  /** The push service it belongs to, such as `fcm`, `apns` or `web`. */
  readonly service: string
  readonly registeredAt: number
  readonly deadAt?: number
}

export interface Suppression {
  readonly channel: Channel
  readonly address: string
  readonly reason: string
}

/** Everything planning needs to know about a user. */
export interface Profile {
  readonly recipient?: Recipient
  readonly preferences: readonly Preference[]
  readonly devices: readonly Device[]
  readonly suppressions: readonly Suppression[]
}

export interface Profiles {
  readonly users: ReadonlyMap<string, Profile>
  /** Changes whenever an event type or a template does. */
  readonly settingsVersion: number
}

export interface RateAsked {
  readonly event: string
  readonly count: number
  readonly rate: EventRate
}

export interface RateGranted {
  readonly granted: number
  /** When the next window begins, Unix milliseconds. */
  readonly nextAt: number
}

/** The way in. Every call stays within one bucket, and is one transaction. */
export interface Intake {
  readonly buckets: number
  profiles(bucket: number, userIds: readonly string[]): Promise<Profiles>
  /** Admits a batch; a unit whose settled thing was taken by another is answered undefined and changes nothing. */
  admit(
    bucket: number,
    units: readonly AdmissionUnit[],
    rules: CapRules,
    now: number,
  ): Promise<ReadonlyArray<readonly Decided[] | undefined>>
  /** A user's cap counters as they stand, without a promise that they still do in a moment. */
  counters(bucket: number, userId: string): Promise<Counters>
  /** Takes up to `count` events from each event type's rate, and says how many it got and when the next may come. */
  takeRates(asked: readonly RateAsked[], now: number): Promise<ReadonlyMap<string, RateGranted>>
}

export interface ClaimedDelivery {
  readonly bucket: number
  readonly deliveryId: string
  readonly userId: string
  readonly channel: Channel
  readonly event: string
  readonly critical: boolean
  /** Counts claims; a record made under an older one is refused. */
  readonly attempt: number
  /** Failed tries so far; a rate-limited one is none. */
  readonly failures: number
  /** Claims that ended with their worker's death. */
  readonly crashes: number
  readonly sensitive: boolean
  readonly message: Message
}

/** What is left of a message after a try: the targets that have not taken it, and whether any has. */
interface Left {
  readonly targets: readonly Target[]
  readonly taken: boolean
}

/** What one try came to. All of it is refused when the delivery has been claimed again meanwhile. */
export interface TryRecord {
  readonly claimed: ClaimedDelivery
  readonly at: number
  /** Set when at least one target took it. */
  readonly acknowledged?: { readonly provider: string; readonly providerMessageId?: string }
  readonly next:
    | { readonly kind: 'done' }
    | { readonly kind: 'again'; readonly dueAt: number; readonly failures: number; readonly left: Left }
    | { readonly kind: 'dead'; readonly cause: string; readonly detail: string; readonly fallback: boolean }
  /** What the timeline tells of it. */
  readonly what: string
  readonly detail: Readonly<Record<string, unknown>>
  readonly deadTokens: ReadonlyArray<{ readonly token: string; readonly at: number; readonly reason: string }>
}

/** Deliveries on their way. */
export interface Deliveries {
  /** Up to `limit` due deliveries of a channel, leased to the caller; critical first, then fair between event types. */
  claim(
    bucket: number,
    channel: Channel,
    limit: number,
    leaseMs: number,
    now: number,
  ): Promise<readonly ClaimedDelivery[]>
  /** Stores what became of claimed deliveries; answers how many records came too late. */
  record(bucket: number, records: readonly TryRecord[]): Promise<number>
  /** Gives claimed deliveries back untried. */
  release(bucket: number, claimed: readonly ClaimedDelivery[], dueAt: number): Promise<void>
  /** Applies a provider's later report; each event id counts once. True when it changed the state. */
  report(report: ProviderReport): Promise<boolean>
}

/** What a provider tells about a delivery after its ack. */
export interface ProviderReport {
  readonly provider: string
  /** The provider's id of this very report. */
  readonly eventId: string
  readonly deliveryId: string
  readonly report: DeliveryReport
  readonly at: number
  readonly reason?: string
}

/** Deliveries that wake and are planned again. */
export interface WokenDeferral {
  readonly id: string
  readonly reason: 'quiet_hours' | 'fallback' | 'replay'
  readonly channels: readonly Channel[]
  readonly notification: StoredNotification
}

/** A notification as it was accepted, for planning it again. */
export interface StoredNotification {
  readonly id: string
  readonly userId: string
  readonly event: string
  readonly acceptedAt: number
  readonly requested?: readonly Channel[]
  readonly dedupKey?: string
  /** Left out when it was erased. */
  readonly data?: Data
}

/** A pending set that takes no further items: what is in it is to be flushed. */
export interface ClosedWindow {
  readonly id: string
  readonly userId: string
  readonly event: string
  /** Oldest first. */
  readonly items: readonly PendingItem[]
}

export interface PendingItem {
  readonly notificationId: string
  readonly actor: string
  readonly at: number
  readonly data: Data
  readonly channels: readonly Channel[]
  /** The request named the channels: no preference takes them away. */
  readonly byRequest: boolean
}

/** What waits for its time. What is claimed is leased; admission takes it away. */
export interface Waiting {
  claimDeferrals(bucket: number, limit: number, leaseMs: number, now: number): Promise<readonly WokenDeferral[]>
  /** Closes the windows that are due and answers them with their items; again, when a closed one was left lying. */
  closeWindows(bucket: number, limit: number, leaseMs: number, now: number): Promise<readonly ClosedWindow[]>
}

export interface Scheduled {
  readonly id: string
  readonly fireAt: number
  readonly payload: NotifyRequest
}

/** Notifications for later. */
export interface Schedule {
  add(fireAt: number, payload: NotifyRequest): Promise<string>
  find(id: string): Promise<Scheduled | undefined>
  list(userId: string): Promise<readonly Scheduled[]>
  /** True for exactly one: the canceller, or whoever fires it. */
  cancel(id: string): Promise<boolean>
  claim(bucket: number, limit: number, leaseMs: number, now: number): Promise<readonly Scheduled[]>
  /** Makes a dead letter of one that can't be fired. */
  bury(scheduled: Scheduled, cause: string, detail: string, now: number): Promise<void>
}

/** The circuit breakers of providers, shared by all processes. */
export interface ProviderHealth {
  /** For each provider that is open, until when (Unix milliseconds). */
  open(): Promise<ReadonlyMap<string, number>>
  /** Counts calls. True when they opened the breaker. */
  report(provider: string, calls: number, failures: number, rules: BreakerRules, now: number): Promise<boolean>
  /** True for exactly one caller once an open breaker's time is over: its call is the probe. */
  probe(provider: string, now: number, untilMs: number): Promise<boolean>
}

export interface DeadLetter {
  readonly id: string
  readonly notificationId?: string
  readonly userId?: string
  readonly channel?: Channel
  readonly event?: string
  readonly cause: string
  readonly detail: string
  readonly diedAt: number
}

export interface DeadLetterFilter {
  readonly cause?: string
  readonly channel?: Channel
  readonly event?: string
  readonly userId?: string
  readonly ids?: readonly string[]
}

/** Deliveries that were given up, and events that could not be taken. */
export interface DeadLetters {
  find(id: string): Promise<DeadLetter | undefined>
  /** Newest first, those that died before the letter `before`. */
  list(filter: DeadLetterFilter, limit: number, before: string | undefined): Promise<readonly DeadLetter[]>
  /** Gives up to `limit` letters back to be delivered at `at`; answers how many. Each goes back once. */
  replay(filter: DeadLetterFilter, limit: number, at: number): Promise<number>
  /** Takes letters away for good; answers how many. */
  discard(filter: DeadLetterFilter, limit: number): Promise<number>
  /** Keeps an invalid message of the topic. */
  keepInvalid(id: string, message: string, detail: string, now: number): Promise<void>
}

/** State changes on their way to the stream of events. */
export interface Outbox {
  claim(bucket: number, limit: number, leaseMs: number): Promise<readonly StreamedEvent[]>
  remove(bucket: number, ids: readonly string[]): Promise<void>
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

export interface Recipients {
  find(userId: string): Promise<Recipient | undefined>
  put(recipients: readonly Recipient[], now: number): Promise<void>
  /** Takes what another service knows of a user: only the fields that it changed since it last told are written. */
  feed(recipient: Recipient, now: number): Promise<void>
  remove(userId: string): Promise<boolean>
}

export interface Preferences {
  list(userId: string): Promise<readonly Preference[]>
  put(userId: string, preference: Preference, now: number): Promise<void>
  remove(userId: string, eventType: string): Promise<boolean>
}

export interface Devices {
  list(userId: string): Promise<readonly Device[]>
  /** Registers a device or its new token; a dead one lives again. */
  put(userId: string, device: Omit<Device, 'registeredAt' | 'deadAt'>, now: number): Promise<void>
  remove(userId: string, deviceId: string): Promise<boolean>
  /** Marks a token dead unless it was registered again after `at`. True when it was alive. */
  bury(userId: string, token: string, at: number, reason: string): Promise<boolean>
}

export interface EventTypes {
  /** Changes whenever an event type or a template does. */
  version(): Promise<number>
  all(): Promise<readonly EventType[]>
  put(eventType: EventType, now: number): Promise<void>
  remove(event: string): Promise<boolean>
}

export type TemplateKey = Pick<TemplateText, 'templateId' | 'channel' | 'locale'>

export interface Templates {
  published(): Promise<readonly TemplateText[]>
  /** Every version of the texts of a template, newest first, and which are published. */
  versions(templateId: string): Promise<ReadonlyArray<TemplateText & { readonly published: boolean }>>
  /** Stores a new version and answers its number; publishes it unless told otherwise. */
  save(text: Omit<TemplateText, 'version'>, publish: boolean, now: number): Promise<number>
  /** Makes a stored version the one in use. False when there is no such version. */
  publish(key: TemplateKey, version: number, now: number): Promise<boolean>
  /** Takes a text out of use; its versions stay. */
  withdraw(key: TemplateKey): Promise<boolean>
}

export interface InboxItem {
  readonly id: string
  readonly event: string
  readonly subject?: string
  readonly body: string
  readonly createdAt: number
  readonly readAt?: number
}

export interface Inbox {
  /** Stores items; one that is there already stays as it is. */
  put(items: ReadonlyArray<InboxItem & { readonly userId: string }>): Promise<void>
  /** Newest first, those made before the item `before`. */
  list(userId: string, limit: number, before: string | undefined): Promise<readonly InboxItem[]>
}

/** One message as a provider would have carried it. */
export interface MailboxEntry {
  readonly id: string
  readonly deliveryId: string
  readonly userId: string
  readonly channel: Channel
  readonly address: string
  readonly content: { readonly subject?: string; readonly body: string; readonly html?: string }
  readonly at: number
}

/** What the embedded mode sends to, instead of the world. */
export interface Mailbox {
  add(entries: readonly MailboxEntry[]): Promise<void>
  find(id: string): Promise<MailboxEntry | undefined>
  list(limit: number): Promise<readonly MailboxEntry[]>
}

/** A declared thing: its id among its kind, and what is declared of it. */
interface Declared<Entry> {
  readonly id: string
  readonly entry: Entry
}

interface DeclaredRecipient {
  readonly recipient: Recipient
  readonly devices: ReadonlyArray<Omit<Device, 'registeredAt' | 'deadAt'>>
}

/** Writes what the configuration declares where it was edited since it was last applied. */
export interface Declarations {
  templates(declared: ReadonlyArray<Declared<Omit<TemplateText, 'version'>>>, now: number): Promise<void>
  eventTypes(declared: ReadonlyArray<Declared<EventType>>, now: number): Promise<void>
  recipients(declared: ReadonlyArray<Declared<DeclaredRecipient>>, now: number): Promise<void>
}

export interface Notifications {
  find(id: string): Promise<NotificationRecord | undefined>
}

/** Everything the service stores, by role. A feature asks for its role only. */
export interface NotifyStore {
  readonly intake: Intake
  readonly deliveries: Deliveries
  readonly waiting: Waiting
  readonly schedule: Schedule
  readonly providerHealth: ProviderHealth
  readonly deadLetters: DeadLetters
  readonly outbox: Outbox
  readonly privacy: Privacy
  readonly recipients: Recipients
  readonly preferences: Preferences
  readonly devices: Devices
  readonly eventTypes: EventTypes
  readonly templates: Templates
  readonly inbox: Inbox
  readonly mailbox: Mailbox
  readonly notifications: Notifications
  readonly declared: Declarations
  ping(): Promise<void>
}
