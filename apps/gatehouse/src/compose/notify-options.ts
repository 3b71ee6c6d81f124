import { defaultOptions, type NotifyOptions } from '@gatehouse/notify'
import { given } from './given.ts'
import type { Parts } from './parts.ts'

type Declared = NonNullable<Parts['config']['file']['notify']>

/** What the file says of the notification service, over the defaults. */
export function notifyOptions(declared: Declared = {}): Partial<NotifyOptions> {
  const { caps, retention, inboxStreams } = defaultOptions
  return given({
    caps: {
      total: declared.cap ?? caps.total,
      channels: declared.channel_caps ?? {},
      priorities: declared.priority_caps ?? {},
    },
    attempts: declared.attempts,
    pushAttempts: declared.push_attempts,
    pushPatienceMs: declared.push_patience_seconds === undefined ? undefined : declared.push_patience_seconds * 1000,
    aggregationDelayMs: declared.aggregation_seconds === undefined ? undefined : declared.aggregation_seconds * 1000,
    aggregationThreshold: declared.aggregation_threshold,
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
