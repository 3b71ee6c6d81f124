import type { IncomingHttpHeaders } from 'node:http'
import type { Http } from '@gatehouse/kit'
import * as choices from './api/choices.ts'
import * as deadLetters from './api/dead-letters.ts'
import * as devices from './api/devices.ts'
import { simulateEventType } from './api/event-type-simulation.ts'
import * as eventTypes from './api/event-types.ts'
import { explainNotification } from './api/explain/endpoint.ts'
import { getNotification } from './api/notifications.ts'
import * as preferences from './api/preferences.ts'
import * as recipients from './api/recipients.ts'
import { getReplay, stopReplay } from './api/replays.ts'
import * as schemas from './api/schemas/index.ts'
import * as suppressions from './api/suppressions.ts'
import * as devMailbox from './dev-mailbox/endpoint.ts'
import * as inbox from './inbox/endpoint.ts'
import * as inboxSchemas from './inbox/schema.ts'
import { streamItems } from './inbox/stream-endpoint.ts'
import { addNdjsonParser, bulkLimitBytes, submitEvents } from './intake/bulk.ts'
import { submitEvent } from './intake/endpoint.ts'
import { submitReservedMail } from './intake/reserved-mail.ts'
import * as intakeSchemas from './intake/schema.ts'
import { inboxChanges } from './model/notification/inbox-change.ts'
import { eraseUser, exportUser } from './privacy/endpoint.ts'
import * as privacySchemas from './privacy/schema.ts'
import { maxEventBytes } from './request/notify-body.ts'
import { asReturned, createRouteBuilders } from './request/route-options.ts'
import type { RouteContext } from './route-context.ts'
import * as schedule from './schedule/endpoint.ts'
import * as scheduleSchemas from './schedule/schema.ts'
import { listChanges } from './state-changes/endpoint.ts'
import * as changeSchemas from './state-changes/schema.ts'
import * as subscription from './subscription/endpoint.ts'
import * as pageSchemas from './subscription/schema.ts'
import { templateRoutes } from './template-routes.ts'
import { providerRoutes, traceRoutes } from './trace-routes.ts'
import { followLink, recordOpen } from './tracking/links.ts'
import { maxReceiptBytes, recordReceipts } from './tracking/receipts.ts'
import * as trackingSchemas from './tracking/schema.ts'
import { followShortLink } from './tracking/short-links.ts'
import { createTrackingRecorder } from './tracking/tracked-request.ts'
import * as webhooks from './webhooks/endpoint.ts'
import * as webhookSchemas from './webhooks/schema.ts'

/** Registers every path of the service: who may call it, its schema, its handler. */
export async function registerRoutes(http: Http, context: RouteContext): Promise<void> {
  await intakeRoutes(http, context)
  scheduleRoutes(http, context)
  deliveryRoutes(http, context)
  traceRoutes(http, context)
  providerRoutes(http, context)
  settingsRoutes(http, context)
  templateRoutes(http, context)
  recipientRoutes(http, context)
  userRoutes(http, context)
  streamRoutes(http, context)
  await trackingRoutes(http, context)
  await http.register((scope) => pageRoutes(scope as Http, context))
  await http.register((scope) => webhookRoutes(scope as Http, context))
  if (context.devMailbox) await http.register((scope) => mailboxRoutes(scope as Http, context))
}

/** What producers submit. */
async function intakeRoutes(http: Http, context: RouteContext): Promise<void> {
  const { store } = context
  const { allow, allowRecent } = createRouteBuilders(context.access)
  const limit = { bodyLimit: maxEventBytes }
  http.post('/v1/notify', { ...limit, ...allow('produce', intakeSchemas.notify) }, submitEvent(context))
  const reserved = allow('mailReserved', intakeSchemas.reservedMail)
  http.post('/v1/reserved-mails', { ...limit, ...reserved }, submitReservedMail(context))
  const explain = { ...context, intake: store.intake, standings: store.standings }
  http.post('/v1/explain', { ...asReturned, ...allow('readDelivery', schemas.explain) }, explainNotification(explain))
  await http.register(async (scope) => {
    addNdjsonParser(scope as Http)
    const bulk = {
      bodyLimit: bulkLimitBytes,
      config: { checksBodyText: true },
      ...allowRecent('produce', intakeSchemas.bulk),
    }
    ;(scope as Http).post('/v1/notify/bulk', bulk, submitEvents(context))
  })
}

/** Notifications for later. */
function scheduleRoutes(http: Http, context: RouteContext): void {
  const { allow, allowRecent } = createRouteBuilders(context.access)
  const { createScheduled, listScheduled, getScheduled, cancelScheduled } = scheduleSchemas
  const store = { ...context, schedule: context.store.schedule }
  const create = { bodyLimit: maxEventBytes, ...allowRecent('produce', createScheduled) }
  http.post('/v1/scheduled', create, schedule.createScheduled(store))
  http.get('/v1/scheduled', allow('readScheduled', listScheduled), schedule.listScheduled(store))
  http.get('/v1/scheduled/:id', allow('readScheduled', getScheduled), schedule.getScheduled(store))
  http.patch(
    '/v1/scheduled/:id',
    allow('cancelScheduled', scheduleSchemas.moveScheduled),
    schedule.moveScheduled(store),
  )
  http.delete('/v1/scheduled/:id', allow('cancelScheduled', cancelScheduled), schedule.cancelScheduled(store))
}

/** What became of notifications, and what failed for good. */
function deliveryRoutes(http: Http, context: RouteContext): void {
  const { notifications, deadLetters: letters } = context.store
  const { allow, allowRecent } = createRouteBuilders(context.access)
  const one = { ...context, store: notifications }
  const readOne = { ...asReturned, ...allow('readOutcome', schemas.getNotification) }
  http.get('/v1/notifications/:id', readOne, getNotification(one))
  const { listDeadLetters, getDeadLetter, replayDeadLetter, discardDeadLetter } = deadLetters
  const store = { ...context, store: letters, notifications }
  const { replayDeadLetters: replay, discardDeadLetters: discard } = schemas
  http.get('/v1/dead-letters', allow('readDelivery', schemas.listDeadLetters), listDeadLetters(store))
  const { summarizeDeadLetters: summarize } = schemas
  http.get('/v1/dead-letters/summary', allow('readDelivery', summarize), deadLetters.summarizeDeadLetters(store))
  http.get('/v1/replays/:batch_id', allow('readDelivery', schemas.getReplay), getReplay(store))
  http.post('/v1/replays/:batch_id/stop', allow('manage', schemas.stopReplay), stopReplay(store))
  const readLetter = { ...asReturned, ...allow('readDelivery', schemas.getDeadLetter) }
  http.get('/v1/dead-letters/:id', readLetter, getDeadLetter(store))
  http.post('/v1/dead-letters/replay', allow('manage', replay), deadLetters.replayDeadLetters(store))
  http.post('/v1/dead-letters/:id/replay', allow('manage', schemas.replayDeadLetter), replayDeadLetter(store))
  http.post('/v1/dead-letters/discard', allowRecent('manage', discard), deadLetters.discardDeadLetters(store))
  http.delete('/v1/dead-letters/:id', allowRecent('manage', schemas.discardDeadLetter), discardDeadLetter(store))
}

/** Event types and suppressions. */
function settingsRoutes(http: Http, context: RouteContext): void {
  const { allow, allowRecent } = createRouteBuilders(context.access)
  const types = { ...context, store: context.store.eventTypes }
  const { listEventTypes, getEventType, updateEventType, deleteEventType } = eventTypes
  http.get('/v1/event-types', allow('readSettings', schemas.listEventTypes), listEventTypes(types))
  http.get('/v1/event-types/:event', allow('readSettings', schemas.getEventType), getEventType(types))
  http.put('/v1/event-types/:event', allowRecent('manage', schemas.updateEventType), updateEventType(types))
  const simulate = allow('readSettings', schemas.simulateEventType)
  http.post('/v1/event-types/:event/simulate', simulate, simulateEventType(context))
  http.delete('/v1/event-types/:event', allowRecent('manage', schemas.deleteEventType), deleteEventType(types))
  const store = { ...context, store: context.store.suppressions }
  const { listSuppressions, searchSuppressions, addSuppression, liftSuppressions, liftSuppression } = suppressions
  http.get('/v1/suppressions', allow('readSettings', schemas.listSuppressions), listSuppressions(store))
  http.post('/v1/suppressions/search', allow('readSettings', schemas.searchSuppressions), searchSuppressions(store))
  http.post('/v1/suppressions', allowRecent('manage', schemas.addSuppression), addSuppression(store))
  http.delete('/v1/suppressions', allow('manage', schemas.liftSuppressions), liftSuppressions(store))
  const liftOne = allowRecent('manage', schemas.liftSuppression)
  http.delete('/v1/suppressions/:suppression_id', liftOne, liftSuppression(store))
}

/** How users can be reached. */
function recipientRoutes(http: Http, context: RouteContext): void {
  const { allow, allowRecent } = createRouteBuilders(context.access)
  const store = { ...context, store: context.store.recipients }
  const { getRecipient, updateRecipient, deleteRecipient, updateRecipients, revealRecipient, searchRecipients } =
    recipients
  const many = { bodyLimit: 1024 * 1024, ...allowRecent('manage', schemas.updateRecipients) }
  http.put('/v1/recipients', many, updateRecipients(store))
  http.post('/v1/recipients/search', allow('readDelivery', schemas.searchRecipients), searchRecipients(store))
  http.get('/v1/recipients/:user_id', allow('readDelivery', schemas.getRecipient), getRecipient(store))
  const update = allowRecent('putRecipient', schemas.updateRecipient)
  http.put('/v1/recipients/:user_id', update, updateRecipient(store))
  http.delete('/v1/recipients/:user_id', allowRecent('putRecipient', schemas.deleteRecipient), deleteRecipient(store))
  http.post('/v1/recipients/:user_id/reveal', allow('reveal', schemas.revealRecipient), revealRecipient(store))
}

/** What belongs to one user, and is open to them too. */
function userRoutes(http: Http, context: RouteContext): void {
  const { allowRecent, own } = createRouteBuilders(context.access)
  const stored = { ...context, store: context.store.preferences }
  const { listPreferences, setPreference, getPreference, updatePreference, deletePreference } = preferences
  const preference = '/v1/users/:id/preferences/:event_type'
  http.get('/v1/users/:id/preferences', own('readOwn', schemas.listPreferences), listPreferences(stored))
  http.put('/v1/users/:id/preferences', own('changeOwn', schemas.setPreference), setPreference(stored))
  http.get(preference, own('readOwn', schemas.getPreference), getPreference(stored))
  http.put(preference, own('changeOwn', schemas.updatePreference), updatePreference(stored))
  http.delete(preference, own('changeOwn', schemas.deletePreference), deletePreference(stored))
  const { getChoices, unsubscribe, setChoice, updateChoice } = choices
  http.get('/v1/users/:id/choices', own('readOwn', schemas.getChoices), getChoices(context))
  http.put('/v1/users/:id/choices', own('changeOwn', schemas.unsubscribe), unsubscribe(context))
  http.put('/v1/users/:id/choices/:event', own('changeOwn', schemas.setChoice), setChoice(context))
  http.patch('/v1/users/:id/choices/:event', own('changeOwn', schemas.updateChoice), updateChoice(context))
  const installed = { ...context, store: context.store.devices, limit: context.options.devicesPerUser }
  const device = '/v1/users/:id/devices/:device_id'
  http.get('/v1/users/:id/devices', own('readOwn', schemas.listDevices), devices.listDevices(installed))
  http.put(device, own('changeOwn', schemas.registerDevice), devices.registerDevice(installed))
  http.delete(device, own('changeOwn', schemas.deleteDevice), devices.deleteDevice(installed))
  const suppressed = { ...context, store: context.store.suppressions }
  const { listUserSuppressions, liftUserSuppression } = suppressions
  const suppression = '/v1/users/:id/suppressions/:suppression_id'
  http.get('/v1/users/:id/suppressions', own('readOwn', schemas.listUserSuppressions), listUserSuppressions(suppressed))
  http.delete(suppression, own('changeOwn', schemas.liftUserSuppression), liftUserSuppression(suppressed))
  const data = { ...context, store: context.store.privacy }
  http.get('/v1/users/:id/data', allowRecent('privacy', privacySchemas.exportUser), exportUser(data))
  http.delete('/v1/users/:id/data', allowRecent('privacy', privacySchemas.eraseUser), eraseUser(data))
  const feed = { ...context, inbox: context.store.inbox }
  http.get('/v1/users/:id/inbox', own('readFeed', inboxSchemas.listItems), inbox.listItems(feed))
  http.get('/v1/users/:id/inbox/counts', own('readFeed', inboxSchemas.countItems), inbox.countItems(feed))
  for (const change of inboxChanges) {
    const options = own('changeOwn', inboxSchemas.changeItems(change))
    http.post(`/v1/users/:id/inbox/${change}`, options, inbox.changeItems(feed, change))
  }
}

/** What is read as it happens: server-sent events, and pages that wait. */
function streamRoutes(http: Http, context: RouteContext): void {
  const { store, readers, streams, notificationStreams, options } = context
  const { allow, own } = createRouteBuilders(context.access)
  const once = { exposeHeadRoute: false }
  // The hook must not return a value: Fastify takes one for an error.
  http.addHook('preClose', async () => {
    await Promise.all([streams.close(), readers.close(), notificationStreams.close()])
  })
  http.get(
    '/v1/users/:id/inbox/stream',
    { ...once, ...own('readFeed', inboxSchemas.streamItems) },
    streamItems(context),
  )
  const changes = { ...context, stateChanges: store.stateChanges, rules: options.changeReaders }
  http.get('/v1/events', { ...once, ...allow('readEvents', changeSchemas.listChanges) }, listChanges(changes))
}

/** What messages lead to. The signed link, or the token of the message, is the credential. */
async function trackingRoutes(http: Http, context: RouteContext): Promise<void> {
  const { store, links, receiptTokens: tokens } = context
  const receipts = { bodyLimit: maxReceiptBytes, schema: trackingSchemas.recordReceipts }
  if (tokens) http.post('/v1/receipts', receipts, recordReceipts({ ...context, tokens }))
  if (!links) return
  const tracked = { ...context, links, shortLinks: store.shortLinks, recordTracked: createTrackingRecorder(context) }
  http.get('/t/o/:token', { schema: trackingSchemas.recordOpen }, recordOpen(tracked))
  http.get('/t/c/:token', { schema: trackingSchemas.followLink }, followLink(tracked))
  http.get('/l/:id', { schema: trackingSchemas.followShortLink }, followShortLink(tracked))
}

/** The pages behind the links of mails. */
async function pageRoutes(http: Http, { links, ...context }: RouteContext): Promise<void> {
  if (!links) return
  const page = { ...context, links, recipients: context.store.recipients }
  const { maxFormBytes: bodyLimit, subscriptionAssets, subscriptionFiles } = subscription
  subscription.addFormParser(http)
  const { showUnsubscribe, submitUnsubscribe, showPreferences, savePreferences } = pageSchemas
  http.get('/unsubscribe/:token', { schema: showUnsubscribe }, subscription.showUnsubscribe(page))
  http.post('/unsubscribe/:token', { bodyLimit, schema: submitUnsubscribe }, subscription.submitUnsubscribe(page))
  http.get('/preferences/:token', { schema: showPreferences }, subscription.showPreferences(page))
  http.post('/preferences/:token', { bodyLimit, schema: savePreferences }, subscription.savePreferences(page))
  for (const [name, type, text] of subscriptionFiles(context.pages))
    http.get(`${subscriptionAssets}/${name}`, { schema: { hide: true } }, (_request, reply) =>
      reply.header('cache-control', 'public, max-age=300').type(type).send(text),
    )
}

/** What providers report. Their signature is the credential. */
async function webhookRoutes(http: Http, context: RouteContext): Promise<void> {
  const { checkHeaders, receive } = webhooks.createWebhookHandlers(context)
  const schema = webhookSchemas.receiveWebhook
  webhooks.addRawParser(http)
  http.post('/v1/webhooks/:provider', { bodyLimit: webhooks.maxWebhookBytes, onRequest: checkHeaders, schema }, receive)
}

/** The mailbox of the embedded mode. */
async function mailboxRoutes(http: Http, context: RouteContext): Promise<void> {
  const { showMailbox, showMailDocument, answerMailbox } = devMailbox
  const { listMailboxSchema, showMessageSchema, answerMailboxSchema } = devMailbox
  const { mailbox, devices, notifications } = context.store
  const languages = devMailbox.readTexts(context.pages.branding)
  const box = { ...context, mailbox, devices, notifications, languages }
  const onRequest = async ({ headers }: { readonly headers: IncomingHttpHeaders }) => devMailbox.refuseForeign(headers)
  devMailbox.prepareMailbox(http, box)
  http.get('/dev/mailbox', { schema: listMailboxSchema }, showMailbox(box))
  http.get('/dev/mailbox/:id', { schema: showMessageSchema }, showMailbox(box))
  http.get('/dev/mailbox/:id/html', { schema: showMessageSchema }, showMailDocument(box))
  http.post('/dev/mailbox/:id/:action', { onRequest, schema: answerMailboxSchema }, answerMailbox(box))
}
