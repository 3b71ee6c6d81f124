import type { Clock, Log, Worker } from '@gatehouse/kit'
import type { CatalogKeeper } from './catalog.ts'
import { type Channel, channels } from './channel.ts'
import { startChannelWorker } from './deliver/worker.ts'
import type { Hints } from './hints.ts'
import type { Accept } from './intake/accept.ts'
import type { MailLinks } from './mail-links.ts'
import type { NotifyMetrics } from './metrics.ts'
import type { NotifyOptions } from './options.ts'
import { startWakingWorker } from './plan/worker.ts'
import { startRetentionWorker } from './privacy/retention.ts'
import { inboxProvider } from './providers/inbox.ts'
import type { Provider } from './providers/provider.ts'
import { startReleaseWorker } from './schedule/release.ts'
import { startScheduleWorker } from './schedule/worker.ts'
import type { NotifyStore } from './store.ts'
import type { Topic } from './topic.ts'
import { startOutboxWorker } from './tracking/outbox.ts'

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
  readonly mailLinks?: MailLinks
  readonly hints: Hints
}

/** Starts the workers of the service: one for each channel that someone carries, and those for what waits for its time. */
export function startWorkers({ store, catalog, accept, hints, topic, ...rest }: WorkersOptions): Worker[] {
  const { intake, waiting, schedule, deliveries } = store
  const buckets = Array.from({ length: intake.buckets }, (_, bucket) => bucket)
  const common = { ...rest, buckets }
  return [
    ...channelWorkers({ ...rest, store, catalog, accept, hints }, deliveries, buckets),
    startWakingWorker({ ...common, intake, waiting, catalog, hints }),
    startScheduleWorker({ ...common, schedule, accept: (event) => accept.one(event) }),
    startReleaseWorker({ ...common, parked: store.parked, catalog, onReleased: hints.due }),
    startRetentionWorker({ ...common, privacy: store.privacy, retention: rest.options.retention }),
    ...(topic ? [startOutboxWorker({ ...common, outbox: store.outbox, topic })] : []),
  ]
}

function channelWorkers(
  { store, providers, options, clock, log, metrics, mailLinks, hints }: WorkersOptions,
  deliveries: NotifyStore['deliveries'],
  buckets: readonly number[],
): Worker[] {
  const carried: WorkersOptions['providers'] = { 'in-app': [inboxProvider()], ...providers }
  return channels.flatMap((channel) => {
    const mine = carried[channel] ?? []
    if (mine.length === 0) {
      log.warn({ channel }, 'no provider carries this channel: it is off')
      return []
    }
    const given = mailLinks && channel === 'email' ? { mailLinks } : {}
    const common = { ...given, deliveries, health: store.providerHealth, buckets, options, clock, log, metrics }
    return [startChannelWorker({ ...common, channel, providers: mine, hints })]
  })
}
