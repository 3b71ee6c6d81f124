import type { Clock, Log, Worker } from '@gatehouse/kit'
import type { Provider } from '@gatehouse/providers'
import { startResumeWorker } from './aggregate/worker.ts'
import type { CatalogKeeper } from './catalog/catalog.ts'
import type { NotifyOptions } from './config/options.ts'
import type { HandoverTargets } from './context/handover.ts'
import type { Hints } from './context/hints.ts'
import type { NotifyMetrics } from './context/metrics.ts'
import { SweepingAgenda } from './deliver/sweeping-agenda.ts'
import { startChannelWorker } from './deliver/worker.ts'
import type { Accept } from './intake/accept.ts'
import type { CompleteMessages } from './links/complete-messages.ts'
import { type Channel, channels } from './model/channel.ts'
import type { Topic } from './model/topic.ts'
import { startRetentionWorker } from './privacy/retention.ts'
import { inboxProvider } from './providers/inbox.ts'
import { startReleaseWorker } from './schedule/release.ts'
import { startScheduleWorker } from './schedule/worker.ts'
import { startOutboxWorker, startStreamWorker } from './state-changes/outbox.ts'
import type { NotifyStore } from './store/store.ts'

/** What the workers of the service need. */
export interface WorkersOptions {
  readonly store: NotifyStore
  readonly catalog: CatalogKeeper
  readonly accept: Accept
  readonly options: NotifyOptions
  readonly providers: Partial<Record<Channel, readonly Provider[]>>
  readonly clock: Clock
  readonly log: Log
  readonly metrics: NotifyMetrics
  readonly topic?: Topic
  readonly completeMessages: Partial<Record<Channel, CompleteMessages>>
  readonly hints: Hints
  /** Where the workers of channels say that they take in what is admitted. */
  readonly handover: HandoverTargets
  /** Called when there are more state changes to read. */
  readonly onChanges: () => void
}

/** Starts the workers of the service: one for each channel that someone carries, and those for what waits for its time. */
export function startWorkers({ store, catalog, accept, hints, topic, onChanges, ...rest }: WorkersOptions): Worker[] {
  const { intake, waiting, schedule, deliveries, privacy, stateChanges } = store
  const buckets = Array.from({ length: intake.buckets }, (_, bucket) => bucket)
  const common = { ...rest, buckets }
  const publishing = topic && startStreamWorker({ ...rest, stateChanges, topic })
  const onNumbered = () => {
    publishing?.resume()
    onChanges()
  }
  const { retention } = rest.options
  return [
    ...channelWorkers({ ...rest, store, catalog, accept, hints, onChanges }, deliveries, buckets),
    startResumeWorker({ ...common, intake, waiting, catalog, hints }),
    startScheduleWorker({ ...common, schedule, waiting, accept: (event) => accept.one(event) }),
    startReleaseWorker({ ...common, parked: store.parked, catalog, onReleased: hints.onDue }),
    startRetentionWorker({ ...common, privacy, stateChanges, publishes: topic !== undefined, retention }),
    startOutboxWorker({ ...rest, stateChanges, onNumbered }),
    ...(publishing ? [publishing] : []),
  ]
}

function channelWorkers(
  { store, providers, options, clock, log, metrics, completeMessages, hints, handover }: WorkersOptions,
  deliveries: NotifyStore['deliveries'],
  buckets: readonly number[],
): Worker[] {
  const providersOf: WorkersOptions['providers'] = { 'in-app': [inboxProvider()], ...providers }
  return channels.flatMap((channel) => {
    const mine = providersOf[channel] ?? []
    if (mine.length === 0) {
      log.warn({ channel }, 'no provider carries this channel: it is off')
      return []
    }
    const complete = completeMessages[channel]
    const completion = complete ? { completeMessages: complete } : {}
    const common = { ...completion, deliveries, health: store.providerHealth, options, clock, log, metrics }
    const agenda = new SweepingAgenda(buckets, options.idleMs)
    return [startChannelWorker({ ...common, agenda, channel, providers: mine, hints, handover })]
  })
}
