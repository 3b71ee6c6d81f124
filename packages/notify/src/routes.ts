import type { Clock, Http, Log } from '@gatehouse/kit'
import type { PageParts } from '@gatehouse/kit/page'
import { choiceEndpoints } from './api/choices.ts'
import { deadLetterEndpoints } from './api/dead-letters.ts'
import { deviceEndpoints } from './api/devices.ts'
import { eventTypeEndpoints } from './api/event-types.ts'
import { type ExplainRoutes, explainEndpoint } from './api/explain.ts'
import { notificationEndpoint } from './api/notifications.ts'
import { preferenceEndpoints } from './api/preferences.ts'
import { recipientEndpoints } from './api/recipients.ts'
import { suppressionEndpoints } from './api/suppressions.ts'
import { type TemplateToolRoutes, templateToolEndpoints } from './api/template-tools.ts'
import { templateEndpoints } from './api/templates.ts'
import type { CatalogKeeper } from './catalog/catalog.ts'
import type { Reserved } from './catalog/reserved.ts'
import type { NotifyOptions } from './config/options.ts'
import type { Audit } from './context/audit.ts'
import { mailboxEndpoints } from './dev-mailbox/endpoint.ts'
import { inboxEndpoints } from './inbox/endpoint.ts'
import type { ShowAllItems, ShowItems } from './inbox/record.ts'
import { inboxStreamEndpoint } from './inbox/stream-endpoint.ts'
import type { InboxStreams } from './inbox/streams.ts'
import type { Accept } from './intake/accept.ts'
import { bulkEndpoint } from './intake/bulk.ts'
import { notifyEndpoint } from './intake/endpoint.ts'
import { reservedMailEndpoint } from './intake/reserved-mail.ts'
import type { Links } from './links/links.ts'
import type { ReceiptTokens } from './links/receipt-token.ts'
import type { Choices } from './preferences/choices.ts'
import { privacyEndpoints } from './privacy/endpoint.ts'
import type { AccessControl, WatchCredential } from './request/caller.ts'
import { scheduleEndpoints } from './schedule/endpoint.ts'
import { changesEndpoint } from './state-changes/endpoint.ts'
import type { ChangeReaders } from './state-changes/readers.ts'
import type { NotifyStore } from './store/store.ts'
import { subscriptionEndpoints } from './subscription/endpoint.ts'
import { trackingEndpoints } from './tracking/links.ts'
import { receiptEndpoint } from './tracking/receipts.ts'
import { shortLinkEndpoint } from './tracking/short-links.ts'
import { createTrackingRecorder } from './tracking/tracked-request.ts'
import { type WebhookRoutes, webhookEndpoint } from './webhooks/endpoint.ts'

export interface RouteContext extends WebhookRoutes {
  readonly access: AccessControl
  readonly audit: Audit
  readonly accept: Accept
  readonly catalog: CatalogKeeper
  readonly reserved: Reserved
  readonly store: NotifyStore
  readonly options: NotifyOptions
  readonly clock: Clock
  /** Told after dead letters were given back to be delivered. */
  readonly onReplayed: () => void
  readonly plan: ExplainRoutes['plan']
  readonly testSend: TemplateToolRoutes['testSend']
  readonly streams: InboxStreams
  readonly readers: ChangeReaders
  readonly log: Log
  /** How items of a feed are shown to callers who may not read personal data. */
  readonly masked: ShowItems
  /** How they are shown to the others. */
  readonly shown: ShowAllItems
  readonly watch: WatchCredential | undefined
  readonly choices: Choices
  readonly links: Links | undefined
  readonly receiptTokens: ReceiptTokens | undefined
  readonly pages: PageParts
  /** Mounts /dev/mailbox. */
  readonly devMailbox: boolean
}

/** Every endpoint of the service. */
export async function registerRoutes(http: Http, context: RouteContext): Promise<void> {
  const { access, audit, accept, catalog, reserved, store, options, reports, clock, onReplayed, devMailbox } = context
  notifyEndpoint(http, access, accept)
  reservedMailEndpoint(http, { access, accept, reserved })
  await http.register((scope) => bulkEndpoint(scope as Http, access, accept))
  explainEndpoint(http, { access, intake: store.intake, catalog, options, clock, plan: context.plan })
  scheduleEndpoints(http, { access, audit, schedule: store.schedule, catalog })
  const { deadLetters, notifications } = store
  deadLetterEndpoints(http, { access, audit, store: deadLetters, notifications, clock, onReplayed })
  notificationEndpoint(http, access, store.notifications)
  eventTypeEndpoints(http, { access, audit, store: store.eventTypes, catalog, reserved, options, clock })
  templateEndpoints(http, { access, audit, store: store.templates, reserved, clock })
  const tools = {
    access,
    audit,
    store: store.templates,
    reserved,
    catalog,
    clock,
    defaultLocale: options.locale,
    testSend: context.testSend,
  }
  templateToolEndpoints(http, tools)
  recipientEndpoints(http, { access, audit, store: store.recipients, clock })
  preferenceEndpoints(http, { access, audit, store: store.preferences, catalog, clock })
  const { devices } = store
  const limit = options.devicesPerUser
  deviceEndpoints(http, { access, audit, store: devices, providers: context.providers, limit, clock, log: context.log })
  choiceEndpoints(http, { access, audit, choices: context.choices, catalog })
  suppressionEndpoints(http, { access, audit, store: store.suppressions, clock })
  inboxEndpoints(http, {
    access,
    audit,
    inbox: store.inbox,
    reports,
    masked: context.masked,
    shown: context.shown,
    clock,
  })
  inboxStreamEndpoint(http, { access, streams: context.streams, clock, watch: context.watch })
  const { readers, watch, log } = context
  const rules = options.changeReaders
  changesEndpoint(http, { access, stateChanges: store.stateChanges, readers, rules, clock, watch, log })
  privacyEndpoints(http, access, store.privacy, audit)
  const { links, receiptTokens, pages, choices } = context
  if (receiptTokens) receiptEndpoint(http, { tokens: receiptTokens, reports, metrics: context.metrics, clock })
  if (links) {
    const recordTracked = createTrackingRecorder({ reports, metrics: context.metrics, clock })
    trackingEndpoints(http, { links, pages, recordTracked: recordTracked })
    shortLinkEndpoint(http, { shortLinks: store.shortLinks, pages, recordTracked: recordTracked, clock })
    const { recipients } = store
    await http.register((scope) => subscriptionEndpoints(scope as Http, { links, pages, choices, recipients, clock }))
  }
  await http.register((scope) => webhookEndpoint(scope as Http, context))
  if (devMailbox) {
    const { mailbox, devices } = store
    await http.register((scope) => mailboxEndpoints(scope as Http, { mailbox, reports, devices, clock }))
  }
}
