import type { Channel } from '../model/channel.ts'
import type { BreakerRules } from '../model/delivery/breaker.ts'
import type { Backoff } from '../model/delivery/retry-policy.ts'
import type { SuppressionDays } from '../model/delivery/suppression.ts'
import type { TrackingRule } from '../model/delivery/tracking.ts'
import type { Priority } from '../model/notification/priority.ts'

/** The most notifications a user gets in a window that the first counted one opens. */
export interface Caps {
  /** Notifications a user and window, whatever their channels. */
  readonly total: number
  /** Messages a user and window on one channel. */
  readonly channels: Partial<Record<Channel, number>>
  /** Notifications of one priority a user and window. */
  readonly priorities: Partial<Record<Exclude<Priority, 'critical'>, number>>
}

/** For how long rows are kept, in days. */
export interface Retention {
  /** Notifications with their deliveries and timelines, in days. */
  readonly notificationDays: number
  /** The notification log: for how long a dedup key prevents a second notification, in days. */
  readonly logDays: number
  /** Dead letters, in days. */
  readonly deadLetterDays: number
  /** Items of the in-app feed, in days. */
  readonly inboxDays: number
  /** Devices whose push service said that they are gone, in days. */
  readonly deadDeviceDays: number
  /** Short links of messages, in days; those of in-app items at least as long as these. */
  readonly linkDays: number
  /** State changes in the log that `GET /v1/events` reads, in days; 0 removes them at once. */
  readonly stateChangeDays: number
}

/** How many streams of in-app feeds a process holds open, and for how long. */
export interface InboxStreamRules {
  readonly max: number
  readonly maxPerUser: number
  /** From one sign of life to the next, in milliseconds; a reader that takes nothing for two of them is cut off. */
  readonly heartbeatMs: number
  /** How long one lasts at most, in milliseconds; its reader comes again with a token that is checked again. */
  readonly maxLifeMs: number
  /** From one look at the inboxes that are read to the next, in milliseconds, for changes whose notice was lost. */
  readonly pollMs: number
}

/** How many readers of state changes may wait in a process, and how long. */
export interface ChangeReaderRules {
  /** Whether there is a log to read. */
  readonly enabled: boolean
  /** Long polls and streams of all clients. */
  readonly max: number
  readonly maxPerClient: number
  /** From one sign of life of a stream to the next, in milliseconds; a reader that takes nothing for two is cut off. */
  readonly heartbeatMs: number
  /** How long a stream lasts at most, in milliseconds. */
  readonly maxLifeMs: number
}

/** How many streams of single notifications a process holds open, and for how long. */
export interface NotificationStreamRules {
  readonly max: number
  /** Of one subject, a person or a client. */
  readonly maxPerReader: number
  /** From one sign of life to the next, in milliseconds; a reader that takes nothing for two of them is cut off. */
  readonly heartbeatMs: number
  /** How long one lasts at most, in milliseconds. */
  readonly maxLifeMs: number
  /** From one look at the notification to the next, in milliseconds; up to five times as long while nothing happens. */
  readonly pollMs: number
}

/** The options of the service; {@link defaultOptions} has their defaults. */
export interface NotifyOptions {
  /** Channels that nobody carries: they are left out, and undeliverable where a request names them. */
  readonly channelsOff: readonly Channel[]
  readonly caps: Caps
  /** How long a cap's window lasts from its first counted notification, in milliseconds. */
  readonly capWindowMs: number
  /** Tries before a delivery becomes a dead letter, 3 to 5. */
  readonly attempts: number
  /** Failures of a message of the topic by its own fault before it is a dead letter. */
  readonly topicAttempts: number
  /** Tries of a push before it becomes a dead letter and email is tried, 3 to 5. */
  readonly pushAttempts: number
  /** How long a push waits while no provider takes anything from us before email is tried, in milliseconds. */
  readonly pushPatienceMs: number
  /** How long any other message waits for that before it is a dead letter, in milliseconds. */
  readonly patienceMs: number
  readonly backoff: Backoff
  readonly breaker: BreakerRules
  /** From the first item of an aggregation to its flush, in milliseconds. */
  readonly aggregationDelayMs: number
  /** Items above which one combined notification is sent, where the event type doesn't say. */
  readonly aggregationThreshold: number
  /** The zone of users whose zone isn't known (IANA name). */
  readonly zone: string
  /** The locale of users whose locale isn't known, and of texts that exist in no locale of theirs. */
  readonly locale: string
  /** Over how long the deferred of one morning are spread, in milliseconds. */
  readonly morningSpreadMs: number
  /** How long a worker holds what it claimed, in milliseconds of the database's time. */
  readonly leaseMs: number
  /** Provider calls in flight per channel and process. */
  readonly concurrency: Readonly<Record<Channel, number>>
  /** Deliveries claimed at once. */
  readonly claimSize: number
  /** Scheduled rows taken per pass. */
  readonly schedulePassSize: number
  /** The pause of a worker that found nothing, and from one survey of all buckets to the next, in milliseconds. */
  readonly idleMs: number
  /**
   * Within this time every bucket is looked at for which no hint came, in milliseconds, where a survey can't look at all of
   * them at once.
   */
  readonly sweepMs: number
  /** For how long a process that says nothing more keeps its buckets, in milliseconds of the database's time. */
  readonly bucketLeaseMs: number
  readonly retention: Retention
  readonly suppressionDays: SuppressionDays
  readonly inboxStreams: InboxStreamRules
  /** Most devices of a user: one more drops the one that was registered the longest ago. */
  readonly devicesPerUser: number
  /** Of messages whose event type doesn't say. */
  readonly tracking: TrackingRule
  /** Hosts whose links are tracked where they come from data, besides that of the base URL: `shop.example`. */
  readonly trackedHosts: readonly string[]
  /** How long the token of a push or an in-app item reports what became of it, in days. */
  readonly receiptDays: number
  readonly changeReaders: ChangeReaderRules
  readonly notificationStreams: NotificationStreamRules
}

/** Defaults. Those the specification gives say so; the others are ours. */
export const defaultOptions: NotifyOptions = {
  channelsOff: [],
  // specification, part B, Limits: N a day illustrated as 10, 86400-second expiry; any whole number from 0
  caps: { total: 10, channels: {}, priorities: {} },
  capWindowMs: 86_400_000,
  // specification, part B, Limits: 3 to 5 attempts; email after 3 failed push attempts
  attempts: 5,
  pushAttempts: 3,
  // ours: as many as a delivery has
  topicAttempts: 5,
  // ours: as long as a breaker takes to open for its longest
  pushPatienceMs: 600_000,
  // ours: a day; nothing waits for ever
  patienceMs: 86_400_000,
  // 1 s, 10 s, 100 s, 15 min at most, each with full jitter; ours
  backoff: { baseMs: 1_000, factor: 10, maxMs: 900_000 },
  breaker: { windowMs: 30_000, minCalls: 20, failureRate: 0.5, openMs: 10_000, maxOpenMs: 300_000 },
  // specification, part B, Limits: 5 minutes
  aggregationDelayMs: 300_000,
  aggregationThreshold: 3,
  zone: 'UTC',
  locale: 'en',
  morningSpreadMs: 120_000,
  leaseMs: 60_000,
  concurrency: { push: 64, email: 32, sms: 16, 'in-app': 64 },
  claimSize: 200,
  // specification, part B, Limits: up to 1000 due rows per pass
  schedulePassSize: 1_000,
  idleMs: 1_000,
  sweepMs: 60_000,
  bucketLeaseMs: 15_000,
  retention: {
    notificationDays: 90,
    logDays: 30,
    deadLetterDays: 90,
    inboxDays: 365,
    deadDeviceDays: 30,
    linkDays: 365,
    // ours: as long as the stream of NATS keeps them
    stateChangeDays: 7,
  },
  // ours: until the management lifts it, or the user has another address
  suppressionDays: {},
  inboxStreams: { max: 10_000, maxPerUser: 10, heartbeatMs: 20_000, maxLifeMs: 900_000, pollMs: 5_000 },
  // ours: a person has fewer; installations that were removed are dropped before their push service says so
  devicesPerUser: 20,
  changeReaders: { enabled: true, max: 100, maxPerClient: 20, heartbeatMs: 15_000, maxLifeMs: 900_000 },
  // ours: each is a few reads by key a second
  notificationStreams: { max: 200, maxPerReader: 10, heartbeatMs: 15_000, maxLifeMs: 900_000, pollMs: 1_000 },
  // ours: whoever reads a message is not watched unless the operator says so
  tracking: 'off',
  // ours: what users write is led nowhere by us
  trackedHosts: [],
  // ours: a push may wait four weeks for its device
  receiptDays: 35,
}
