import type { Clock, Log, Worker } from '@gatehouse/kit'
import type { Provider } from '@gatehouse/providers'
import { Agenda } from './agenda/agenda.ts'
import type { Agendas } from './agenda/agendas.ts'
import { startOwner } from './agenda/owner.ts'
import { announceLeases, receiveHints } from './agenda/shared-hints.ts'
import { type Surveyor, startSurveyor } from './agenda/surveyor.ts'
import { startResumeWorker } from './aggregate/worker.ts'
import type { CatalogKeeper } from './catalog/catalog.ts'
import type { NotifyOptions } from './config/options.ts'
import type { HandoverTargets } from './context/handover.ts'
import type { Hints } from './context/hints.ts'
import type { NotifyMetrics } from './context/metrics.ts'
import type { ProviderActivity } from './context/provider-activity.ts'
import { startChannelWorker } from './deliver/worker.ts'
import type { Accept } from './intake/accept.ts'
import type { CompleteMessages } from './links/complete-messages.ts'
import { type Channel, channels } from './model/channel.ts'
import { type AssignedPartitions, sharePartitions, type WorkShare } from './model/work/partition.ts'
import type { Topic } from './model/work/topic.ts'
import { workKinds } from './model/work/work-kind.ts'
import { purgeEveryMs, startRetentionWorker } from './privacy/retention.ts'
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
  readonly activity: ProviderActivity
  readonly topic?: Topic
  /** Is said which partitions of the topic this process reads. */
  readonly partitions: AssignedPartitions
  readonly completeMessages: Partial<Record<Channel, CompleteMessages>>
  readonly agendas: Agendas
  readonly hints: Hints
  /** Where the workers of channels say that they take in what is admitted. */
  readonly handover: HandoverTargets
  /** Called when there are more state changes to read. */
  readonly onChanges: () => void
}

/**
 * Starts the workers of the service: one for each channel, those for what waits for its time, and those that know in
 * which buckets there is something to do and which of them are this process' to work in. The worker of a channel that
 * nobody carries any more ends what was queued while somebody did.
 */
export function startWorkers(settings: WorkersOptions): Worker[] {
  const { store, options, topic, agendas, onChanges, metrics, log } = settings
  const { stateChanges, privacy } = store
  const publishing = topic && startStreamWorker({ ...settings, stateChanges, topic })
  const onNumbered = () => {
    publishing?.resume()
    onChanges()
  }
  const workers = startBucketWorkers(settings, onNumbered)
  for (const kind of workKinds) {
    const worker = workers.find(({ name }) => name === kind)
    if (worker) agendas.attach(kind, worker)
  }
  const publishes = topic !== undefined
  const purges = new Agenda({ sweepMs: purgeEveryMs })
  const { retention } = options
  const purging = startRetentionWorker({ ...settings, privacy, stateChanges, publishes, retention, agenda: purges })
  const onSurveyed = () => {
    for (const kind of workKinds) metrics.failingBuckets.set({ worker: kind }, agendas.of(kind).failing)
    metrics.failingBuckets.set({ worker: 'survey' }, surveyor.failing)
    metrics.failingBuckets.set({ worker: 'purge' }, purges.failing)
  }
  const surveyor: Surveyor = startSurveyor({ ...settings, ...options, survey: store.survey, onSurveyed })
  const onOwned = (buckets: readonly number[]) => {
    agendas.own(buckets)
    purges.own(buckets)
    surveyor.own(buckets)
    purging.resume()
    metrics.ownedBuckets.set(buckets.length)
    log.info({ buckets: buckets.length }, 'this process works in its share of the buckets')
  }
  const onReturned = (buckets: readonly number[]) => {
    agendas.returned(buckets)
    surveyor.returned(buckets)
    purges.returned(buckets)
    purging.resume()
  }
  const sharing = startSharing(settings, surveyor, onOwned)
  const following = followNodes(store, onReturned)
  return [...workers, purging, surveyor, ...sharing, ...following, ...(publishing ? [publishing] : [])]
}

/** Where buckets are on different nodes, those of one that is back are visited at once. */
function followNodes({ nodes }: NotifyStore, onReturned: (buckets: readonly number[]) => void): Worker[] {
  if (!nodes) return []
  const unsubscribe = nodes.onReturn(onReturned)
  return [{ name: 'nodes', resume() {}, stop: async () => unsubscribe() }]
}

/** The workers of what is divided into buckets. Each follows the agenda of its name. */
function startBucketWorkers(settings: WorkersOptions, onNumbered: () => void): Worker[] {
  const { store, accept, agendas, hints } = settings
  const { intake, waiting, schedule, stateChanges, parked } = store
  const common = { ...settings, apart: store.survey.apart }
  return [
    ...channelWorkers(settings),
    startResumeWorker({ ...common, intake, waiting, agenda: agendas.of('resume') }),
    startScheduleWorker({
      ...common,
      schedule,
      waiting,
      agenda: agendas.of('schedule'),
      accept: (event) => accept.one(event),
    }),
    startReleaseWorker({
      ...common,
      parked,
      agenda: agendas.of('release'),
      onReleased: (buckets) => hints.onDue(buckets),
    }),
    startOutboxWorker({ ...common, stateChanges, agenda: agendas.of('outbox'), onNumbered }),
  ]
}

/**
 * The workers that divide the buckets, and with them the partitions of the topic, among processes. Where this is the only
 * one, all of them are its own.
 */
function startSharing(
  settings: WorkersOptions,
  surveyor: Surveyor,
  onOwned: (buckets: readonly number[]) => void,
): Worker[] {
  const { ownership, hints: exchange } = settings.store
  const { agendas, options, topic, log } = settings
  const { count } = agendas
  const onShare = (share: WorkShare | undefined) => assignPartitions(settings, share)
  if (!ownership) {
    const ownedBuckets = Array.from({ length: count }, (_, bucket) => bucket)
    onOwned(ownedBuckets)
    onShare({ process: 'this', processes: ['this'], readers: ['this'], generation: 0, buckets: count, ownedBuckets })
    return []
  }
  const announce = () => exchange && announceLeases(exchange)
  const reach = () => topic?.reach() ?? 'lost'
  const leaseMs = options.bucketLeaseMs
  const owner = startOwner({ ownership, count, leaseMs, reach, log, onOwned, onShare, announce })
  if (!exchange) return [owner]
  const onLeases = () => owner.resume()
  const onGap = () => {
    owner.resume()
    surveyor.missed()
  }
  const stop = receiveHints({ exchange, agendas, onLeases, onGap })
  return [owner, { name: 'hints', resume: onGap, stop }]
}

/** The partitions follow the leases of buckets: who has no lease any more reads none. */
function assignPartitions({ topic, partitions, metrics }: WorkersOptions, share: WorkShare | undefined): void {
  if (share) metrics.workerProcesses.set(share.processes.length)
  if (!topic) return
  partitions.assign(share ? sharePartitions(topic.partitions, share) : [], share?.generation)
  metrics.ownedPartitions.set(partitions.ownedPartitions().length)
}

function channelWorkers({ store, providers, completeMessages, agendas, ...settings }: WorkersOptions): Worker[] {
  const { deliveries, providerHealth: health } = store
  const providersOf: WorkersOptions['providers'] = { 'in-app': [inboxProvider()], ...providers }
  return channels.map((channel) => {
    const mine = providersOf[channel] ?? []
    if (mine.length === 0)
      settings.log.warn({ channel }, 'no provider carries this channel: it is off, and what waits for it will end')
    const complete = completeMessages[channel]
    const completion = complete ? { completeMessages: complete } : {}
    const agenda = agendas.of(`deliver ${channel}`)
    return startChannelWorker({ ...settings, ...completion, deliveries, health, agenda, channel, providers: mine })
  })
}
