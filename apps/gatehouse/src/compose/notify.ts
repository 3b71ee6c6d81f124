import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { checkSealed, type Database, type Http, type Secret, startWorker } from '@gatehouse/kit'
import {
  createNotify,
  type Notify,
  type ReservedDeclarations,
  readTemplates,
  type TemplateDeclaration,
  type Topic,
  type WatchCredential,
} from '@gatehouse/notify'
import {
  migrateNotify,
  notifySealed,
  openLinkSecrets,
  postgresNotifyStore,
  type StoredLinkSecrets,
} from '@gatehouse/notify/postgres'
import { trustOf } from '../config/config.ts'
import { restrictDevPages } from '../dev-pages/access.ts'
import type { DevSite } from '../dev-pages/site.ts'
import type { Engine } from '../http/health.ts'
import { branding } from './branding.ts'
import { composeDevInbox } from './dev-pages/dev-inbox.ts'
import { encryptionKey } from './engines.ts'
import type { Ingress } from './gateway/ingress.ts'
import { reservedForIdentity } from './identity/mail.ts'
import { notifyOptions, priorityWeights, topicStreams } from './notify-options.ts'
import type { Parts } from './parts.ts'
import { composeProviders, providerSources } from './providers.ts'

/** The notification service with its routes, workers and dev pages. */
export interface ComposedNotify {
  readonly notify: Notify
  /** Registers every route. */
  readonly plugin: (http: Http) => Promise<void>
  readonly engines: readonly Engine[]
  /** Whether /dev/mailbox is there. */
  readonly mailbox: boolean
  /** Whether /dev/inbox is there. */
  readonly devInbox: boolean
}

/** The notification service on its database, with the providers that the settings name. */
export async function composeNotify(
  parts: Parts,
  database: Database,
  ingress: Ingress,
  site: DevSite,
): Promise<ComposedNotify> {
  const { settings, file, folder } = parts.config
  const tables = await migrateNotify(database, { buckets: settings.notifyBuckets })
  const topic = settings.natsUrl && (await openTopic(settings.natsUrl, parts))
  const options = notifyOptions(file.notify)
  const streaming = topic !== undefined || options.changeReaders?.enabled !== false
  const store = postgresNotifyStore(database, {
    ...tables,
    streaming,
    priorityWeights: priorityWeights(file.notify),
    log: parts.log,
  })
  const { mailbox, inbox } = site.places
  const devInbox = inbox ? composeDevInbox(parts, site) : undefined
  const templates = file.templates ? await readTemplates(pathToFileURL(`${resolve(folder, file.templates)}/`)) : []
  const watch: WatchCredential = ({ raw }, caller, end) => ingress.watch(raw, caller, end)
  const notify = await createNotify({
    store,
    providers: composeProviders(parts, store, mailbox),
    providerSources: providerSources(parts),
    declared: { eventTypes: file.event_types ?? [], templates, recipients: file.recipients ?? [] },
    ...(await reservedDeclarations(parts, templates)),
    authenticate: devInbox ? devInbox.authenticate(ingress.authenticate) : ingress.authenticate,
    watch: devInbox ? devInbox.watch(watch) : watch,
    recordChange: parts.recordChange,
    options,
    prometheusUrl: settings.prometheusUrl,
    devMailbox: mailbox,
    devLinks: site.links,
    publicUrl: settings.baseUrl,
    ...(await openSecrets(parts, database)),
    branding: branding(parts.config),
    ...(topic ? { topic } : {}),
    clock: parts.clock,
    log: parts.log,
    metrics: parts.metrics,
  })
  parts.resources.push(() => notify.stop())
  const engines = topic ? [{ name: 'topic', needed: false, ping: () => topic.ping() }] : []
  const plugin = async (http: Http) => {
    if (mailbox) restrictDevPages(http, file.dev_pages ? [settings.baseUrl, settings.authUrl] : [])
    await notify.plugin(http)
    await devInbox?.plugin(http)
  }
  return { notify, plugin, engines, mailbox, devInbox: devInbox !== undefined }
}

/** The event types and templates of identity's mails, where identity of ours uses this service. */
async function reservedDeclarations(
  { config }: Parts,
  declared: TemplateDeclaration[],
): Promise<{ reserved?: ReservedDeclarations }> {
  if (!['own', 'sibling'].includes(trustOf(config.settings))) return {}
  const own = await readTemplates(new URL('../../templates/', import.meta.url))
  return { reserved: reservedForIdentity(besides(own, declared, ({ templateId }) => templateId)) }
}

/** The client of NATS is loaded only where there is one. */
async function openTopic(url: Secret, { log, config }: Parts): Promise<Topic> {
  const { natsTopic } = await import('@gatehouse/notify/nats')
  const { natsReplicas } = config.settings
  return natsTopic({ url: url.reveal(), log, ...topicStreams(config.file.notify, natsReplicas) })
}

/** From one look at the secrets of links to the next, in milliseconds. */
const secretsEveryMs = 2_000

/**
 * Processes on one database make and read each other's links; their secrets are kept there, sealed. On PostgreSQL they may
 * be replaced meanwhile, by the command line.
 */
async function openSecrets(
  { config: { settings }, clock, log, resources }: Parts,
  database: Database,
): Promise<{ linkSecret?: StoredLinkSecrets }> {
  if (settings.encryptionKey || !settings.databaseUrl) {
    const ring = encryptionKey(settings)
    await checkSealed(database, notifySealed, ring)
    const linkSecret = await openLinkSecrets(database, ring, clock)
    if (database.engine === 'postgres') {
      const pass = async () => {
        await linkSecret.refresh()
        return false
      }
      const worker = startWorker({ name: 'link secrets', log, pass, idleMs: secretsEveryMs, keepsAlive: false })
      resources.push(() => worker.stop())
    }
    return { linkSecret }
  }
  log.warn(
    'ENCRYPTION_KEY is not set: messages carry no links to unsubscribe, to choose what one gets, or to be tracked, and no tokens of receipts',
  )
  return {}
}

/** Our own declarations, but for those that the file makes itself. */
function besides<Declaration>(
  own: Declaration[],
  declared: Declaration[],
  name: (each: Declaration) => string,
): Declaration[] {
  const declaredNames = new Set(declared.map(name))
  return [...own.filter((each) => !declaredNames.has(name(each))), ...declared]
}
