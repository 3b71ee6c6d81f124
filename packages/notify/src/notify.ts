import {
  type Clock,
  changesInLog,
  emailAddressExpected,
  type Finding,
  type Http,
  isEmailAddress,
  type SetupStep,
  type Worker,
} from '@gatehouse/kit'
import { brandingFrom, Languages } from '@gatehouse/kit/page'
import type { Provider } from '@gatehouse/providers'
import { Agendas } from './agenda/agendas.ts'
import { sendHints } from './agenda/shared-hints.ts'
import { applyDeclarations, checkDeclarations } from './catalog/apply-declarations.ts'
import { createCatalogKeeper } from './catalog/catalog.ts'
import { hideReserved, parseReserved, type Reserved, type ReservedMail } from './catalog/reserved.ts'
import { defaultOptions, type NotifyOptions } from './config/options.ts'
import { createAudit } from './context/audit.ts'
import type { HandoverTargets } from './context/handover.ts'
import { createHints } from './context/hints.ts'
import { createHistory } from './context/history.ts'
import { countSuppressions, createNotifyMetrics } from './context/metrics.ts'
import { ProviderActivity } from './context/provider-activity.ts'
import { createReports } from './context/reports.ts'
import { createTestSend } from './deliver/test-sends/test-send.ts'
import { createFullView, createMaskedView } from './inbox/record.ts'
import { InboxStreams } from './inbox/streams.ts'
import { type Accept, type AcceptOptions, type AcceptResult, createAccept } from './intake/accept.ts'
import { acceptReservedMail } from './intake/reserved-mail.ts'
import { createTopicIntake } from './intake/topic.ts'
import { withReceiptTokens } from './links/complete-messages.ts'
import { createLinks } from './links/links.ts'
import { createMailLinks, mailVariables } from './links/mail-links.ts'
import { createReceiptTokens } from './links/receipt-token.ts'
import { createShortenLinks } from './links/short-links.ts'
import { type Channel, channels } from './model/channel.ts'
import { bucketOfId } from './model/id.ts'
import type { NotifyRequest } from './model/notification/notification.ts'
import { AssignedPartitions } from './model/work/partition.ts'
import type { WorkKind } from './model/work/work-kind.ts'
import { targetsOf } from './plan/message.ts'
import { planNotification } from './plan/plan.ts'
import { createChoices } from './preferences/choices.ts'
import { inboxProvider } from './providers/inbox.ts'
import { createAccessControl } from './request/caller.ts'
import { defaultScopes } from './request/scopes.ts'
import { SearchSlots } from './request/search-slots.ts'
import { registerRoutes } from './routes.ts'
import type { CreateNotifyOptions } from './settings.ts'
import { ChangeReaders } from './state-changes/readers.ts'
import { readFindings } from './stats/findings.ts'
import { readSetup } from './stats/setup.ts'
import type { NotifyStore, Recipient } from './store/store.ts'
import { subscriptionAssets } from './subscription/endpoint.ts'
import { ownHosts } from './templates/link-hosts.ts'
import { NotificationStreams } from './trace/streams.ts'
import { startWorkers } from './workers.ts'

/** The notification service of a process. */
export interface Notify {
  /** Registers every route. */
  readonly plugin: (http: Http) => Promise<void>
  readonly workers: readonly Worker[]
  /** Takes events of this process, as POST /v1/notify would; resolves once they are committed. */
  accept(requests: readonly NotifyRequest[]): Promise<readonly AcceptResult[]>
  /** Takes a mail of a reserved event type, as POST /v1/reserved-mails would; resolves once it is committed. */
  mail(mail: ReservedMail): Promise<AcceptResult>
  /**
   * Takes what another service of this program knows of a user; an edit by API stands until that very field changes.
   * Rejects with RangeError for an email address that is not exactly one.
   */
  putRecipient(recipient: Recipient): Promise<void>
  removeRecipient(userId: string): Promise<void>
  /** What an operator should look at. */
  findings(): Promise<readonly Finding[]>
  /** The steps of the setup of this service. `standIns` are the names of providers that send nothing. */
  setup(standIns: ReadonlySet<string>): Promise<readonly SetupStep[]>
  /** Throws when the store, or the topic where there is one, does not answer. */
  ready(): Promise<void>
  /**
   * No further call of a provider begins, but for test sends; what waits for one is released. Events are stored as before,
   * for another process or the next start. To be called as soon as the process is to stop; {@link stop} waits for the
   * calls under way.
   */
  stopSending(): void
  /** Finishes what is held: events being stored, calls under way. */
  stop(): Promise<void>
}

/**
 * Builds the notification service. What it is given is all it has: no globals, no environment.
 * @throws RangeError naming what is declared and can't be
 */
export async function createNotify(settings: CreateNotifyOptions): Promise<Notify> {
  const { topic } = settings
  const parts = await createParts(settings)
  const { store, readers, clock, activity } = parts
  const work = startWork(settings, parts)
  if (topic?.partitions === 1 && store.survey.apart)
    parts.log.warn('the topic is not divided: while one node of the database is away, its users hold up all events')
  const consuming = await topic?.consume(createTopicIntake(topicIntakeOptions(parts, work)), work.partitions)
  const { accept, workers } = work
  const answering = createEndpointParts(settings, { ...parts, onReported: work.onReported })
  const { reports, streams, notificationStreams } = answering
  return {
    plugin: (http) => registerRoutes(http, { ...parts, ...work, ...answering }),
    workers,
    accept: (requests) => Promise.all(requests.map((request) => accept.one({ request, source: 'process' }))),
    mail: (mail) => acceptReservedMail({ accept, reserved: parts.reserved }, mail, 'process'),
    async putRecipient(recipient) {
      if (recipient.email !== undefined && !isEmailAddress(recipient.email))
        throw new RangeError(`the email of ${recipient.userId} ${emailAddressExpected}`)
      await store.recipients.feed(recipient, clock.now())
    },
    async removeRecipient(userId) {
      await store.recipients.remove(userId)
    },
    findings: () => readFindings({ ...parts, pauses: store.providerPauses, providers: answering.providers }),
    setup: (standIns) =>
      readSetup({
        ...parts,
        stats: store.stats,
        reservedEvents: [...parts.reserved.eventTypes.keys()],
        providers: answering.providers,
        standIns,
      }),
    async ready() {
      await Promise.all([store.ping(), topic?.ping()])
    },
    stopSending() {
      // What goes wrong here is met again by the stop of all.
      for (const worker of workers) if (sendingWorkers.has(worker.name)) worker.stop().catch(() => {})
    },
    async stop() {
      await Promise.all([streams.close(), readers.close(), notificationStreams.close()])
      await consuming?.stop()
      await Promise.all([accept.idle(), reports.idle()])
      await Promise.all(workers.map((worker) => worker.stop()))
      await Promise.all([activity.stop(), parts.recorder.stop()])
      await Promise.all(providersOf(settings).map((provider) => provider.close?.()))
      await topic?.close()
    },
  }
}

const sendingWorkers: ReadonlySet<string> = new Set(channels.map((channel): WorkKind => `deliver ${channel}`))

function providersOf({ providers }: Pick<CreateNotifyOptions, 'providers'>): Provider[] {
  return Object.values(providers).flat()
}

/** What the workers and the endpoints share. Applies what the configuration declares. */
async function createParts(settings: CreateNotifyOptions) {
  const { clock, log, declared = {} } = settings
  const reserved = parseReserved(settings.reserved)
  const visible = hideReserved(settings.store, reserved)
  const channelsOff = channelsWithoutProvider(settings)
  const options: NotifyOptions = { ...defaultOptions, channelsOff, ...settings.options }
  const counted = createHistory({ ...settings, store: visible.stats })
  const metrics = createNotifyMetrics(settings.metrics, counted.tally)
  const store = { ...visible, suppressions: countSuppressions(visible.suppressions, metrics) }
  checkDeclarations(declared, providersOf(settings))
  await applyDeclarations(store, declared, options, clock)
  const linkParts = createLinkParts(settings, store, reserved, options)
  const { idleMs, changeReaders: rules } = options
  const readers = new ChangeReaders({ stateChanges: store.stateChanges, rules, idleMs, log, metrics })
  const plan: AcceptOptions['plan'] = (input) => planNotification(input, options)
  const activity = new ProviderActivity({ store: store.providerActivity, clock, log })
  return { ...linkParts, activity, store, reserved, options, clock, log, metrics, ...counted, readers, plan }
}

type SharedParts = Awaited<ReturnType<typeof createParts>>

/** How events come in, the workers where they run in this process, and who tells them what there is to do. */
function startWork({ providers, topic, work = true }: CreateNotifyOptions, parts: SharedParts) {
  const { store, options, clock, readers } = parts
  const agendas = createAgendas(store, options, clock)
  const hints = createHints(agendas)
  const handover: HandoverTargets = new Map()
  const accept = createAccept({ ...parts, intake: store.intake, hints, handover })
  const partitions = new AssignedPartitions()
  const working = { ...parts, accept, providers, agendas, hints, handover, partitions, ...(topic && { topic }) }
  const bucketOf = (id: string) => bucketOfId(id, agendas.count)
  return {
    accept,
    partitions,
    workers: work ? startWorkers({ ...working, onChanges: () => readers.hint() }) : [],
    onReported: (ids: readonly string[]) => hints.onChanged([...new Set(ids.map(bucketOf))]),
    onReleased: (buckets: readonly number[]) => hints.onDue(buckets),
    onReplayed: () => hints.onDeferred(),
    onScheduled: (id: string, fireAt: number) => hints.onDue([bucketOf(id)], fireAt),
  }
}

function topicIntakeOptions({ store, options, ...parts }: SharedParts, { accept }: { readonly accept: Accept }) {
  return { ...parts, accept, deadLetters: store.deadLetters, attempts: options.topicAttempts }
}

/** What is to be done in which bucket; what is another process' to do is sent to it. */
function createAgendas(store: NotifyStore, { sweepMs, idleMs }: NotifyOptions, clock: Clock): Agendas {
  const agendas = new Agendas({ count: store.intake.buckets, sweepMs })
  const horizonMs = store.survey.apart ? sweepMs : idleMs
  if (store.hints) sendHints({ exchange: store.hints, agendas, horizonMs, clock })
  return agendas
}

type EndpointParts = SharedParts & {
  readonly onReported: (deliveryIds: readonly string[]) => void
}

/** What only the endpoints need. */
function createEndpointParts(
  {
    authenticate,
    scopes = defaultScopes,
    devMailbox = false,
    devLinks = () => [],
    providers,
    providerSources = {},
    watch,
    log,
    recordChange: record = changesInLog(log),
  }: CreateNotifyOptions,
  { store, catalog, options, clock, metrics, receiptTokens, onReported }: EndpointParts,
) {
  const { deliveries, intake, preferences, suppressions, inbox } = store
  const { channelsOff, suppressionDays, inboxStreams: rules } = options
  const access = createAccessControl(authenticate, scopes, clock)
  const masked = createMaskedView(catalog, options.locale)
  const shown = createFullView(receiptTokens, clock)
  return {
    access,
    audit: createAudit(record, access),
    masked,
    shown,
    watch,
    devMailbox,
    devLinks,
    providers: Object.values(providers).flat(),
    providerSources,
    slots: new SearchSlots(),
    testSend: createTestSend({ intake, inbox, clock }, { 'in-app': [inboxProvider()], ...providers }),
    reports: createReports({ deliveries, suppressionDays, clock, metrics, onReported }),
    notificationStreams: new NotificationStreams(options.notificationStreams),
    streams: new InboxStreams({ inbox, masked, shown, rules, log, metrics }),
    choices: createChoices({ intake, preferences, suppressions, catalog, channelsOff, targetsOf, clock }),
  }
}

const dayMs = 86_400_000

/** What mails lead to, and the pages that are found there. */
function createLinkParts(
  { branding: overrides, publicUrl = 'http://localhost', linkSecret, clock }: CreateNotifyOptions,
  store: NotifyStore,
  reserved: Reserved,
  options: NotifyOptions,
) {
  const branding = brandingFrom(overrides)
  const languages = new Languages(new URL('texts/', import.meta.url), branding.textsFolder)
  const links = linkSecret && createLinks({ baseUrl: publicUrl, secret: linkSecret })
  const { tracking, retention } = options
  const hosts = ownHosts(publicUrl, options.trackedHosts)
  const catalog = createCatalogKeeper(store, {
    mailVariables: links && mailVariables(links),
    shortenLinks: links && createShortenLinks({ baseUrl: publicUrl, hosts, tracking, retention }),
    reserved,
  })
  const lifetimeMs = options.receiptDays * dayMs
  const receiptTokens = linkSecret && createReceiptTokens({ secret: linkSecret, lifetimeMs })
  const completeMessages = {
    ...(links && { email: createMailLinks({ links, catalog, languages, hosts, tracking }) }),
    ...(receiptTokens && { push: withReceiptTokens(receiptTokens, clock) }),
  }
  const pages = { branding, languages, assets: subscriptionAssets }
  return { pages, publicUrl, links, receiptTokens, catalog, completeMessages }
}

/** The channels that nobody carries. A process that does not work can't know: there it is the others' to say. */
function channelsWithoutProvider({ providers, work = true }: CreateNotifyOptions): Channel[] {
  return work ? channels.filter((channel) => channel !== 'in-app' && !providers[channel]?.length) : []
}
