import { Counter, Gauge, Histogram, type Registry, type StatLabels, type Tally } from '@gatehouse/kit'
import type { AdmissionDecision } from '../admission/admission.ts'
import { latencyBounds, type Measure } from '../model/measure.ts'
import type { Suppressions } from '../store/store.ts'

/** What the service counts. Labels are closed sets: channels, outcomes, providers, event types. */
export type NotifyMetrics = ReturnType<typeof createNotifyMetrics>

/** Registers the metrics of the service. What is kept as history is counted in `tally` as well. */
export function createNotifyMetrics(registry: Registry, tally: Pick<Tally, 'add'> = { add: () => {} }) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter<Label>({ name, help, labelNames: [...labelNames], registers })
  const gauge = (name: string, help: string, aggregator: 'sum' | 'max' = 'sum') =>
    new Gauge({ name, help, aggregator, registers })
  return {
    /** Counts what is kept as history. */
    keep: (measure: Measure, labels: StatLabels, value = 1) => tally.add(measure, labels, value),
    ...intakeMetrics(counter),
    ...deliveryMetrics(counter),
    ...reportMetrics(counter),
    providerSeconds: new Histogram({
      name: 'notify_provider_seconds',
      help: 'Duration of provider calls',
      labelNames: ['channel', 'provider'],
      buckets: [...latencyBounds],
      registers,
    }),
    changeReaders: gauge('notify_change_readers', 'Readers of state changes that wait in this process'),
    unpublishedChanges: gauge(
      'notify_state_changes_unpublished',
      'State changes in the log that the NATS stream has not acknowledged yet; each is kept until it has',
      // Each process counts those of the whole database.
      'max',
    ),
    ownedBuckets: gauge('notify_owned_buckets', 'Buckets in which this process works'),
    ownedPartitions: gauge('notify_owned_partitions', 'Partitions of the topic that this process reads'),
    // Each process knows all of them.
    workerProcesses: gauge('notify_worker_processes', 'Processes that share the buckets, as this process knows', 'max'),
    failingBuckets: new Gauge({
      name: 'notify_failing_buckets',
      help: 'Buckets of this process whose work fails and is repeated at growing intervals',
      labelNames: ['worker'],
      registers,
    }),
    inboxStreams: gauge('notify_inbox_streams', 'Open streams of in-app feeds in this process'),
  }
}

type CreateCounter = <Label extends string>(name: string, help: string, labels: readonly Label[]) => Counter<Label>

function intakeMetrics(counter: CreateCounter) {
  return {
    outcomes: counter('notify_outcomes_total', 'Channels of accepted events, by outcome', ['channel', 'outcome']),
    missingVariables: counter(
      'notify_missing_variables_total',
      'Variables that a template named and an event did not contain',
      ['channel'],
    ),
    parked: counter('notify_parked_total', 'Events of the topic parked because their type exceeded its rate', [
      'event',
    ]),
    released: counter(
      'notify_released_total',
      'Parked events that were released; those waiting are parked minus these',
      ['event'],
    ),
    topicFailures: counter(
      'notify_topic_failures_total',
      'Messages of the topic whose handling failed, by fault: of the message, which counts as an attempt, or of the surroundings',
      ['fault'],
    ),
  }
}

function deliveryMetrics(counter: CreateCounter) {
  return {
    attempts: counter('notify_attempts_total', 'Delivery attempts, by result', ['channel', 'provider', 'result']),
    expired: counter('notify_expired_total', 'Deliveries not sent because their message had expired', ['channel']),
    quietHours: counter(
      'notify_quiet_hours_total',
      "Deliveries deferred at sending because of their user's quiet hours",
      ['channel'],
    ),
    misconfigured: counter(
      'notify_provider_misconfigured_total',
      'Calls that a provider rejected because of our credentials or account',
      ['provider'],
    ),
  }
}

function reportMetrics(counter: CreateCounter) {
  return {
    webhooks: counter(
      'notify_webhooks_total',
      'Webhooks of providers: accepted, refused (signature), malformed, unchecked (key unavailable) or unread (ignored)',
      ['provider', 'outcome'],
    ),
    reports: counter('notify_reports_total', 'Reports of providers about deliveries, by outcome', [
      'provider',
      'report',
      'outcome',
    ]),
    tracked: counter('notify_tracked_total', 'Opens and clicks, by readers and by machines that identify themselves', [
      'report',
      'by',
    ]),
    receipts: counter(
      'notify_receipts_total',
      'Receipts that apps reported: accepted, or rejected because the token is invalid, expired, or used too often',
      ['result'],
    ),
  }
}

/** Counts what became of admitted notifications, and the variables their templates missed. */
export function countDecided(metrics: NotifyMetrics, decided: readonly AdmissionDecision[]): void {
  const all = decided.flatMap(({ deliveries }) => deliveries)
  for (const [channel, mine] of Map.groupBy(all, (delivery) => delivery.channel))
    for (const [outcome, { length }] of Map.groupBy(mine, (delivery) => delivery.outcome)) {
      metrics.outcomes.inc({ channel, outcome }, length)
      metrics.keep('outcomes', { channel, outcome }, length)
      if (outcome === 'expired') metrics.expired.inc({ channel }, length)
    }
  for (const { notification, deliveries } of decided)
    for (const { outcome } of deliveries) metrics.keep('outcomes_by_event', { event: notification.event, outcome })
  for (const { notification, deliveries } of decided) countTexts(metrics, notification, deliveries)
  for (const { what, channel, detail } of decided.flatMap(({ notification }) => notification.decisions))
    if (what === 'missing_variables' && channel && Array.isArray(detail?.variables))
      metrics.missingVariables.inc({ channel }, detail.variables.length)
}

/** Counts texts that were rendered, by template: those whose event had all that they name, and the others. */
function countTexts(
  metrics: NotifyMetrics,
  { decisions }: AdmissionDecision['notification'],
  deliveries: AdmissionDecision['deliveries'],
): void {
  for (const { channel, plan } of deliveries) {
    if (plan.kind !== 'send' || plan.template === undefined) continue
    const isIncomplete = decisions.some((entry) => entry.what === 'missing_variables' && entry.channel === channel)
    const result = isIncomplete ? 'incomplete' : 'complete'
    metrics.keep('texts', { template: plan.template.id, channel, result })
  }
}

/** A store of suppressions that counts those that were not there before. */
export function countSuppressions(store: Suppressions, metrics: NotifyMetrics): Suppressions {
  return {
    ...store,
    async add(entries, now) {
      const records = await store.add(entries, now)
      for (const { channel, reason, since } of records)
        if (since === now) metrics.keep('suppressions', { channel, reason })
      return records
    },
  }
}
