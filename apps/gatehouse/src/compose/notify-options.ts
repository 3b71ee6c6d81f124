import { defaultOptions, defaultPriorityWeights, type NotifyOptions, type PriorityWeights } from '@gatehouse/notify'
import { given } from './given.ts'
import type { Parts } from './parts.ts'

type Declared = NonNullable<Parts['config']['file']['notify']>

/** What the file says of the notification service, over the defaults. */
export function notifyOptions(declared: Declared = {}): Partial<NotifyOptions> {
  const { caps, retention, inboxStreams } = defaultOptions
  return given({
    ...workerOptions(declared),
    caps: {
      total: declared.cap ?? caps.total,
      channels: declared.channel_caps ?? {},
      priorities: declared.priority_caps ?? {},
    },
    attempts: declared.attempts,
    pushAttempts: declared.push_attempts,
    pushPatienceMs: milliseconds(declared.push_patience_seconds),
    patienceMs: milliseconds(declared.patience_seconds),
    aggregationDelayMs: milliseconds(declared.aggregation_seconds),
    aggregationThreshold: declared.aggregation_threshold,
    morningSpreadMs: milliseconds(declared.morning_spread_seconds),
    zone: declared.zone,
    locale: declared.locale,
    suppressionDays: given({
      bounced: declared.suppression_days?.bounced,
      complained: declared.suppression_days?.complained,
    }),
    tracking: typeof declared.tracking === 'boolean' ? (declared.tracking ? 'on' : 'off') : declared.tracking,
    inboxStreams: {
      ...inboxStreams,
      most: declared.inbox_streams ?? inboxStreams.most,
      mostPerUser: declared.inbox_streams_per_user ?? inboxStreams.mostPerUser,
    },
    retention: {
      notificationDays: declared.retention?.notification_days ?? retention.notificationDays,
      logDays: declared.retention?.log_days ?? retention.logDays,
      deadLetterDays: declared.retention?.dead_letter_days ?? retention.deadLetterDays,
      inboxDays: declared.retention?.inbox_days ?? retention.inboxDays,
      deadDeviceDays: declared.retention?.dead_device_days ?? retention.deadDeviceDays,
    },
  })
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
}: Declared): Pick<NotifyOptions, 'concurrency' | 'backoff' | 'breaker'> {
  return {
    concurrency: { ...defaultOptions.concurrency, ...concurrency },
    backoff: {
      ...defaultOptions.backoff,
      ...given({
        baseMs: milliseconds(backoff?.first_seconds),
        factor: backoff?.factor,
        longestMs: milliseconds(backoff?.longest_seconds),
      }),
    },
    breaker: {
      ...defaultOptions.breaker,
      ...given({
        windowMs: milliseconds(breaker?.window_seconds),
        leastCalls: breaker?.least_calls,
        failureRate: breaker?.failure_rate,
        openMs: milliseconds(breaker?.open_seconds),
        longestOpenMs: milliseconds(breaker?.longest_open_seconds),
      }),
    },
  }
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1000)
}
