import { Counter, Gauge, Histogram, type Registry } from '@gatehouse/kit'
import type { AdmissionDecision } from '../admission/admission.ts'

/** What the service counts. Labels are closed sets: channels, outcomes, providers, event types. */
export interface NotifyMetrics {
  readonly outcomes: Counter<'channel' | 'outcome'>
  readonly attempts: Counter<'channel' | 'result'>
  readonly expired: Counter<'channel'>
  readonly quietHours: Counter<'channel'>
  readonly misconfigured: Counter<'provider'>
  readonly missingVariables: Counter<'channel'>
  readonly parked: Counter<'event'>
  readonly released: Counter<'event'>
  readonly topicFailures: Counter<'fault'>
  readonly webhooks: Counter<'provider' | 'outcome'>
  readonly reports: Counter<'provider' | 'report' | 'outcome'>
  readonly providerSeconds: Histogram<'provider'>
  readonly inboxStreams: Gauge
  readonly changeReaders: Gauge
  readonly unpublishedChanges: Gauge
  readonly tracked: Counter<'report' | 'by'>
  readonly receipts: Counter<'result'>
}

export function createNotifyMetrics(registry: Registry): NotifyMetrics {
  const registers = [registry]
  return {
    outcomes: new Counter({
      name: 'notify_outcomes_total',
      help: 'What became of each channel of an accepted event',
      labelNames: ['channel', 'outcome'],
      registers,
    }),
    attempts: new Counter({
      name: 'notify_attempts_total',
      help: 'Tries to deliver, by what they came to',
      labelNames: ['channel', 'result'],
      registers,
    }),
    expired: new Counter({
      name: 'notify_expired_total',
      help: 'Deliveries that were not sent because their message had expired',
      labelNames: ['channel'],
      registers,
    }),
    quietHours: new Counter({
      name: 'notify_quiet_hours_total',
      help: 'Deliveries that were due in the quiet hours of their user, and wait for the end of them',
      labelNames: ['channel'],
      registers,
    }),
    misconfigured: new Counter({
      name: 'notify_provider_misconfigured_total',
      help: 'Calls that a provider refused for our credentials or account, whoever the message was for',
      labelNames: ['provider'],
      registers,
    }),
    missingVariables: new Counter({
      name: 'notify_missing_variables_total',
      help: 'Variables that a template named and an event did not bring',
      labelNames: ['channel'],
      registers,
    }),
    parked: new Counter({
      name: 'notify_parked_total',
      help: 'Events of the topic that were over the rate of their type and wait their turn',
      labelNames: ['event'],
      registers,
    }),
    released: new Counter({
      name: 'notify_released_total',
      help: 'Parked events whose turn came; those that wait are the parked without these',
      labelNames: ['event'],
      registers,
    }),
    topicFailures: new Counter({
      name: 'notify_topic_failures_total',
      help: 'Messages of the topic whose handling failed: by the fault of the message, which is counted, or of the surroundings',
      labelNames: ['fault'],
      registers,
    }),
    webhooks: new Counter({
      name: 'notify_webhooks_total',
      help: 'Webhooks of providers: taken, refused for their signature, malformed, unchecked for want of a key, or unread: left, for nothing could be made of them',
      labelNames: ['provider', 'outcome'],
      registers,
    }),
    reports: new Counter({
      name: 'notify_reports_total',
      help: 'What providers reported about deliveries, and what became of it',
      labelNames: ['provider', 'report', 'outcome'],
      registers,
    }),
    providerSeconds: new Histogram({
      name: 'notify_provider_seconds',
      help: 'Time of a provider call',
      labelNames: ['provider'],
      buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 30],
      registers,
    }),
    tracked: new Counter({
      name: 'notify_tracked_total',
      help: 'Open pixels and click links that were asked for, by readers and by machines that say so',
      labelNames: ['report', 'by'],
      registers,
    }),
    receipts: new Counter({
      name: 'notify_receipts_total',
      help: 'Receipts that apps reported: accepted, or rejected because the token is invalid, expired, or used too often',
      labelNames: ['result'],
      registers,
    }),
    changeReaders: new Gauge({
      name: 'notify_change_readers',
      help: 'Readers of state changes that wait in this process',
      registers,
    }),
    unpublishedChanges: new Gauge({
      name: 'notify_state_changes_unpublished',
      help: 'State changes in the log that the stream of NATS has not taken yet; each is kept until it has',
      registers,
    }),
    inboxStreams: new Gauge({
      name: 'notify_inbox_streams',
      help: 'Streams of in-app feeds that are open in this process',
      registers,
    }),
  }
}

/** Counts what became of admitted notifications, and the variables their templates missed. */
export function countDecided(metrics: NotifyMetrics, decided: readonly AdmissionDecision[]): void {
  const all = decided.flatMap(({ deliveries }) => deliveries)
  for (const [channel, mine] of Map.groupBy(all, (delivery) => delivery.channel))
    for (const [outcome, { length }] of Map.groupBy(mine, (delivery) => delivery.outcome)) {
      metrics.outcomes.inc({ channel, outcome }, length)
      if (outcome === 'expired') metrics.expired.inc({ channel }, length)
    }
  for (const { what, channel, detail } of decided.flatMap(({ notification }) => notification.decisions))
    if (what === 'missing_variables' && channel && Array.isArray(detail?.variables))
      metrics.missingVariables.inc({ channel }, detail.variables.length)
}
