import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Database } from '@gatehouse/kit'
import {
  type Channel,
  createNotify,
  defaultOptions,
  inboxProvider,
  mailboxProvider,
  type Notify,
  type NotifyStore,
  type Provider,
  readTemplates,
  smtpProvider,
} from '@gatehouse/notify'
import { migrateNotify, postgresNotifyStore } from '@gatehouse/notify/postgres'
import { isOff } from '../config.ts'
import type { Engine } from '../health.ts'
import type { Entrance } from './entrance.ts'
import type { Parts } from './parts.ts'

export interface ComposedNotify {
  readonly plugin: Notify['plugin']
  readonly engines: readonly Engine[]
  /** Whether /dev/mailbox is there. */
  readonly mailbox: boolean
}

/** The notification service on its database, with the providers that the settings name. */
export async function composeNotify(parts: Parts, database: Database, entrance: Entrance): Promise<ComposedNotify> {
  const { settings, file, folder } = parts.config
  const { notifyBuckets: buckets } = settings
  await migrateNotify(database, { buckets })
  const store = postgresNotifyStore(database, { buckets })
  const mailbox = database.engine === 'embedded'
  const templates = file.templates ? await readTemplates(pathToFileURL(`${resolve(folder, file.templates)}/`)) : []
  const notify = await createNotify({
    store,
    providers: providers(parts, store, mailbox),
    declared: { eventTypes: file.event_types ?? [], templates, recipients: file.recipients ?? [] },
    authenticate: entrance.authenticate,
    options: options(file.notify),
    devMailbox: mailbox,
    clock: parts.clock,
    log: parts.log,
    metrics: parts.metrics,
  })
  parts.held.push(() => notify.stop())
  return { plugin: notify.plugin, engines: [], mailbox }
}

/** Who carries which channel. Embedded, what nobody else carries lies in the dev mailbox. */
function providers(
  { config, clock }: Parts,
  store: NotifyStore,
  mailbox: boolean,
): Partial<Record<Channel, Provider[]>> {
  const { settings, file } = config
  const inbox = inboxProvider(store.inbox, clock)
  const dev = (channel: Channel, onward?: Provider) =>
    mailbox ? [mailboxProvider(channel, store.mailbox, clock, onward)] : []
  const email = settings.smtpUrl ? [smtpProvider({ url: settings.smtpUrl, from: settings.mailFrom })] : dev('email')
  const { channels = {} } = file
  return {
    'in-app': mailbox ? dev('in-app', inbox) : [inbox],
    ...(isOff(channels.email) ? {} : { email }),
    ...(isOff(channels.push) ? {} : { push: dev('push') }),
    ...(isOff(channels.sms) ? {} : { sms: dev('sms') }),
  }
}

function options(declared: Parts['config']['file']['notify'] = {}) {
  return {
    ...(declared.cap === undefined ? {} : { caps: { ...defaultOptions.caps, total: declared.cap } }),
    ...(declared.aggregation_seconds === undefined ? {} : { aggregationDelayMs: declared.aggregation_seconds * 1000 }),
  }
}
