import {
  type Clock,
  changesInLog,
  emailAddressExpected,
  type Http,
  isEmailAddress,
  type Log,
  type RecordChange,
  type Registry,
  type Secret,
  type Worker,
} from '@gatehouse/kit'
import { type Branding, brandingFrom, Languages } from '@gatehouse/kit/page'
import type { Provider } from '@gatehouse/providers'
import { applyDeclarations, checkDeclarations, type NotifyDeclarations } from './catalog/apply-declarations.ts'
import { createCatalogKeeper } from './catalog/catalog.ts'
import {
  hideReserved,
  parseReserved,
  type Reserved,
  type ReservedDeclarations,
  type ReservedMail,
} from './catalog/reserved.ts'
import { defaultOptions, type NotifyOptions } from './config/options.ts'
import { createAudit } from './context/audit.ts'
import type { HandoverTargets } from './context/handover.ts'
import { createHints } from './context/hints.ts'
import { createNotifyMetrics } from './context/metrics.ts'
import { createReports } from './context/reports.ts'
import { createTestSend } from './deliver/test-send.ts'
import { createFullView, createMaskedView } from './inbox/record.ts'
import { InboxStreams } from './inbox/streams.ts'
import { type AcceptOptions, type AcceptResult, createAccept } from './intake/accept.ts'
import { acceptReservedMail } from './intake/reserved-mail.ts'
import { createTopicIntake } from './intake/topic.ts'
import { withReceiptTokens } from './links/complete-messages.ts'
import { createLinks } from './links/links.ts'
import { createMailLinks, mailVariables } from './links/mail-links.ts'
import { createReceiptTokens, type ReceiptTokens } from './links/receipt-token.ts'
import { createShortenLinks } from './links/short-links.ts'
import { type Channel, channels } from './model/channel.ts'
import type { NotifyRequest } from './model/notification.ts'
import type { Topic } from './model/topic.ts'
import { planNotification } from './plan/plan.ts'
import { createChoices } from './preferences/choices.ts'
import { inboxProvider } from './providers/inbox.ts'
import { type Authenticate, createAccessControl, type WatchCredential } from './request/caller.ts'
import { defaultScopes, type NotifyScopes } from './request/scopes.ts'
import { registerRoutes } from './routes.ts'
import { ChangeReaders } from './state-changes/readers.ts'
import type { NotifyStore, Recipient } from './store/store.ts'
import { subscriptionAssets } from './subscription/endpoint.ts'
import { startWorkers } from './workers.ts'

/** What the service is built from. */
export interface CreateNotifyOptions {
  readonly store: NotifyStore
  /** Who carries each channel, the preferred first. In-app without one goes to the feed. */
  readonly providers: Partial<Record<Channel, readonly Provider[]>>
  /** What the configuration declares; last edit wins against what was changed at run time. */
  readonly declared?: NotifyDeclarations
  /** Event types of another service's mails, which nobody else sends and nobody changes at run time. */
  readonly reserved?: ReservedDeclarations | undefined
  readonly authenticate: Authenticate
  /** Looks after open streams: a credential may be revoked before it expires. */
  readonly watch?: WatchCredential
  readonly scopes?: NotifyScopes
  /** Keeps the audit trail of what the management changes. Default: the log. */
  readonly recordChange?: RecordChange
  readonly options?: Partial<NotifyOptions>
  /**
   * The queue topic `notifications` and the stream `notifications.events`. The store should then be told to keep state
   * changes for the stream. `stop` closes it.
   */
  readonly topic?: Topic
  /** Mounts /dev/mailbox, which asks nobody who they are: embedded mode only. Default false. */
  readonly devMailbox?: boolean
  /** Runs the workers in this process. Default true. */
  readonly work?: boolean
  /** The key behind the signed links of mails and the tokens of receipts; without it messages carry none of them. */
  readonly linkSecret?: Secret
  /** How the pages look that mails lead to. */
  readonly branding?: Partial<Branding>
  /** Where the world reaches us, without a slash at the end. Default `http://localhost`. */
  readonly publicUrl?: string
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Registry
}

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
  /** Throws when the store, or the topic where there is one, does not answer. */
  ready(): Promise<void>
  /** Finishes what is held: events being stored, calls under way. */
  stop(): Promise<void>
}

/**
 * Builds the notification service. What it is given is all it has: no globals, no environment.
 * @throws RangeError naming what is declared and can't be
 */
export async function createNotify(settings: CreateNotifyOptions): Promise<Notify> {
  const { clock, log, providers, topic, declared = {} } = settings
  const reserved = parseReserved(settings.reserved)
  const store = hideReserved(settings.store, reserved)
  const options: NotifyOptions = {
    ...defaultOptions,
    channelsOff: channelsWithoutProvider(settings),
    ...settings.options,
  }
  const metrics = createNotifyMetrics(settings.metrics)
  const allProviders = Object.values(providers).flat()
  checkDeclarations(declared, allProviders)
  await applyDeclarations(store, declared, options, clock)
  const { pages, publicUrl, links, receiptTokens, catalog, completeMessages } = createLinkParts(
    settings,
    store,
    reserved,
    options,
  )
  const { idleMs, changeReaders: rules } = options
  const readers = new ChangeReaders({ stateChanges: store.stateChanges, rules, idleMs, log, metrics })
  const onChanges = () => readers.hint()
  const workers: Worker[] = []
  const hints = createHints(workers)
  const plan: AcceptOptions['plan'] = (input) => planNotification(input, options)
  const handover: HandoverTargets = new Map()
  const accept = createAccept({ intake: store.intake, catalog, options, clock, metrics, plan, hints, handover })
  const common = { store, catalog, reserved, accept, options, clock, log, metrics }
  if (settings.work ?? true)
    workers.push(
      ...startWorkers({ ...common, providers, hints, handover, onChanges, completeMessages, ...(topic && { topic }) }),
    )
  const { deadLetters } = store
  const attempts = options.topicAttempts
  const consuming = await topic?.consume(createTopicIntake({ accept, deadLetters, attempts, metrics, clock, log }))
  const answering = createEndpointParts(settings, { ...common, receiptTokens })
  const { reports, streams } = answering
  const onReplayed = hints.onDeferred
  return {
    plugin: (http) =>
      registerRoutes(http, {
        ...common,
        ...answering,
        readers,
        plan,
        links,
        receiptTokens,
        pages,
        publicUrl,
        onReplayed,
      }),
    workers,
    accept: (requests) => Promise.all(requests.map((request) => accept.one({ request, source: 'process' }))),
    mail: (mail) => acceptReservedMail({ accept, reserved }, mail, 'process'),
    async putRecipient(recipient) {
      if (recipient.email !== undefined && !isEmailAddress(recipient.email))
        throw new RangeError(`the email of ${recipient.userId} ${emailAddressExpected}`)
      await store.recipients.feed(recipient, clock.now())
    },
    async removeRecipient(userId) {
      await store.recipients.remove(userId)
    },
    async ready() {
      await Promise.all([store.ping(), topic?.ping()])
    },
    async stop() {
      await Promise.all([streams.close(), readers.close()])
      await consuming?.stop()
      await Promise.all([accept.idle(), reports.idle()])
      await Promise.all(workers.map((worker) => worker.stop()))
      await Promise.all(allProviders.map((provider) => provider.close?.()))
      await topic?.close()
    },
  }
}

type Common = Pick<AcceptOptions, 'catalog' | 'options' | 'clock' | 'metrics'> & {
  readonly store: NotifyStore
  readonly receiptTokens: ReceiptTokens | undefined
}

/** What only the endpoints need. */
function createEndpointParts(
  {
    authenticate,
    scopes = defaultScopes,
    devMailbox = false,
    providers,
    watch,
    log,
    recordChange: record = changesInLog(log),
  }: CreateNotifyOptions,
  { store, catalog, options, clock, metrics, receiptTokens }: Common,
) {
  const { deliveries, intake, preferences, suppressions, inbox } = store
  const { channelsOff, suppressionDays, inboxStreams: rules } = options
  const access = createAccessControl(authenticate, scopes)
  const masked = createMaskedView(catalog, options.locale)
  const shown = createFullView(receiptTokens, clock)
  return {
    access,
    audit: createAudit(record, access),
    masked,
    shown,
    watch,
    devMailbox,
    providers: Object.values(providers).flat(),
    testSend: createTestSend({ intake, inbox, clock }, { 'in-app': [inboxProvider()], ...providers }),
    reports: createReports({ deliveries, suppressionDays, clock, metrics }),
    streams: new InboxStreams({ inbox, masked, shown, rules, log, metrics }),
    choices: createChoices({ intake, preferences, suppressions, catalog, channelsOff, clock }),
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
  const catalog = createCatalogKeeper(store, {
    mailVariables: links && mailVariables(links),
    shortenLinks: links && createShortenLinks({ baseUrl: publicUrl, tracking, retention }),
    reserved,
  })
  const lifetimeMs = options.receiptDays * dayMs
  const receiptTokens = linkSecret && createReceiptTokens({ secret: linkSecret, lifetimeMs })
  const completeMessages = {
    ...(links && { email: createMailLinks({ links, catalog, languages, tracking }) }),
    ...(receiptTokens && { push: withReceiptTokens(receiptTokens, clock) }),
  }
  const pages = { branding, languages, assets: subscriptionAssets }
  return { pages, publicUrl, links, receiptTokens, catalog, completeMessages }
}

/** The channels that nobody carries. A process that does not work can't know: there it is the others' to say. */
function channelsWithoutProvider({ providers, work = true }: CreateNotifyOptions): Channel[] {
  return work ? channels.filter((channel) => channel !== 'in-app' && !providers[channel]?.length) : []
}
