import {
  defaultOptions,
  defaultPriorityWeights,
  type NotifyOptions,
  type PriorityWeights,
  type TrackingRule,
} from '@gatehouse/notify'
import type { NatsTopicOptions, StreamSettings } from '@gatehouse/notify/nats'
import { omitUndefined } from './defined-members.ts'
import type { Parts } from './parts.ts'

type Declared = NonNullable<Parts['config']['file']['notify']>

/** What the file says of the notification service, over the defaults. */
export function notifyOptions(declared: Declared = {}): Partial<NotifyOptions> {
  const { caps, inboxStreams, changeReaders } = defaultOptions
  return omitUndefined({
    ...workerOptions(declared),
    caps: {
      total: declared.cap ?? caps.total,
      channels: declared.channel_caps ?? {},
      priorities: declared.priority_caps ?? {},
    },
    attempts: declared.attempts,
    pushAttempts: declared.push_attempts,
    topicAttempts: declared.topic?.attempts,
    pushPatienceMs: milliseconds(declared.push_patience_seconds),
    patienceMs: milliseconds(declared.patience_seconds),
    aggregationDelayMs: milliseconds(declared.aggregation_seconds),
    aggregationThreshold: declared.aggregation_threshold,
    morningSpreadMs: milliseconds(declared.morning_spread_seconds),
    zone: declared.zone,
    locale: declared.locale,
    suppressionDays: omitUndefined({
      bounced: declared.suppression_days?.bounced,
      complained: declared.suppression_days?.complained,
    }),
    tracking: trackingRule(declared.tracking),
    trackedHosts: declared.tracked_hosts,
    receiptDays: declared.receipt_days,
    inboxStreams: {
      ...inboxStreams,
      max: declared.inbox_streams ?? inboxStreams.max,
      maxPerUser: declared.inbox_streams_per_user ?? inboxStreams.maxPerUser,
    },
    devicesPerUser: declared.devices_per_user,
    changeReaders: declared.events && {
      ...changeReaders,
      ...omitUndefined({
        enabled: declared.events.enabled,
        max: declared.events.readers,
        maxPerClient: declared.events.readers_per_client,
      }),
    },
    retention: retentionOptions(declared),
  })
}

/** YAML reads `on` and `off` as booleans where it follows version 1.1. */
function trackingRule(tracking: Declared['tracking']): TrackingRule | undefined {
  if (typeof tracking === 'boolean') return tracking ? 'on' : 'off'
  return typeof tracking === 'object' ? omitUndefined(tracking) : tracking
}

/** How many days rows are kept. */
function retentionOptions(declared: Declared): NotifyOptions['retention'] {
  const { retention } = defaultOptions
  return {
    notificationDays: declared.retention?.notification_days ?? retention.notificationDays,
    logDays: declared.retention?.log_days ?? retention.logDays,
    deadLetterDays: declared.retention?.dead_letter_days ?? retention.deadLetterDays,
    inboxDays: declared.retention?.inbox_days ?? retention.inboxDays,
    deadDeviceDays: declared.retention?.dead_device_days ?? retention.deadDeviceDays,
    linkDays: declared.retention?.link_days ?? retention.linkDays,
    stateChangeDays: stateChangeDays(declared),
  }
}

/** A log that nobody may read holds what NATS has not taken yet, and nothing else. */
function stateChangeDays({ events, retention }: Declared): number {
  if (events?.enabled === false) return 0
  return retention?.state_change_days ?? defaultOptions.retention.stateChangeDays
}

/** What the file says of priorities, over the defaults. */
export function priorityWeights(declared: Declared = {}): PriorityWeights {
  return { ...defaultPriorityWeights, ...declared.priority_weights }
}

/** What the file says of the workers of the channels. */
function workerOptions({
  concurrency,
  backoff,
  breaker,
  buckets,
}: Declared): Pick<NotifyOptions, 'concurrency' | 'backoff' | 'breaker' | 'sweepMs' | 'bucketLeaseMs'> {
  return {
    sweepMs: milliseconds(buckets?.sweep_seconds) ?? defaultOptions.sweepMs,
    bucketLeaseMs: milliseconds(buckets?.lease_seconds) ?? defaultOptions.bucketLeaseMs,
    concurrency: { ...defaultOptions.concurrency, ...concurrency },
    backoff: {
      ...defaultOptions.backoff,
      ...omitUndefined({
        baseMs: milliseconds(backoff?.first_seconds),
        factor: backoff?.factor,
        maxMs: milliseconds(backoff?.max_seconds),
      }),
    },
    breaker: {
      ...defaultOptions.breaker,
      ...omitUndefined({
        windowMs: milliseconds(breaker?.window_seconds),
        minCalls: breaker?.min_calls,
        failureRate: breaker?.failure_rate,
        openMs: milliseconds(breaker?.open_seconds),
        maxOpenMs: milliseconds(breaker?.max_open_seconds),
      }),
    },
  }
}

/** What the file says of the streams of NATS. A stream whose replicas it leaves out has as many as given. */
export function topicStreams(
  { topic }: Declared = {},
  replicas?: number,
): Pick<NatsTopicOptions, 'intake' | 'changes' | 'partitions'> {
  const common = omitUndefined({ replicas })
  return {
    intake: { ...common, ...streamSettings(topic?.notifications) },
    changes: { ...common, ...streamSettings(topic?.state_changes) },
    partitions: omitUndefined({ count: topic?.partitions, streams: topic?.partition_streams }),
  }
}

function streamSettings(declared: NonNullable<Declared['topic']>['state_changes'] = {}): StreamSettings {
  const { replicas, storage, max_age_seconds: maxAge, max_bytes: maxBytes, max_messages: maxMessages } = declared
  return omitUndefined({
    replicas,
    storage,
    maxAgeMs: milliseconds(maxAge),
    maxBytes,
    maxMessages,
    discard: declared.discard,
  })
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1000)
}
