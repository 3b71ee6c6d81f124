import type { Http } from '@gatehouse/kit'
import { testProvider } from './deliver/test-sends/provider-test.ts'
import { createRouteBuilders } from './request/route-options.ts'
import type { RouteContext } from './route-context.ts'
import { getStats } from './stats/endpoint.ts'
import * as statSchemas from './stats/schema.ts'
import { cancelNotification, type Resubmit, resendNotification } from './trace/actions.ts'
import { getQueue, listPending, releaseParked, releasePending } from './trace/backlog.ts'
import { getContent } from './trace/content.ts'
import { getDelivery, listDeliveries } from './trace/deliveries.ts'
import { listNotifications } from './trace/notifications.ts'
import { getProviderOrder, updateProviderOrder } from './trace/provider-order.ts'
import * as providers from './trace/providers.ts'
import * as backlogSchemas from './trace/schemas/backlog.ts'
import * as schemas from './trace/schemas/notifications.ts'
import * as providerSchemas from './trace/schemas/providers.ts'
import { getStanding } from './trace/standing.ts'
import { streamNotification } from './trace/stream-endpoint.ts'

/** Finding notifications and deliveries, and following them. */
export function traceRoutes(http: Http, context: RouteContext): void {
  const { notifications, search } = context.store
  const { allow, allowRecent, own } = createRouteBuilders(context.access)
  const searched = { ...context, notifications, search }
  http.get('/v1/notifications', allow('readOutcome', schemas.listNotifications), listNotifications(searched))
  http.get('/v1/deliveries', allow('readDelivery', schemas.listDeliveries), listDeliveries(searched))
  http.get('/v1/deliveries/:id', allow('readOutcome', schemas.getDelivery), getDelivery(searched))
  const waiting = { ...context, ...context.store }
  const { releasePending: release } = backlogSchemas
  http.get('/v1/pending', allow('readDelivery', backlogSchemas.listPending), listPending(waiting))
  http.post('/v1/pending/:id/release', allow('manage', release), releasePending(waiting))
  const { releaseParked: parked } = backlogSchemas
  http.post('/v1/parked/:event/release', allowRecent('manage', parked), releaseParked(waiting))
  http.get('/v1/queue', allow('readDelivery', backlogSchemas.getQueue), getQueue(waiting))
  http.get('/v1/stats', allow('readDelivery', statSchemas.getStats), getStats(context))
  const standing = { ...context, ...context.store }
  http.get('/v1/users/:id/standing', own('readOwn', schemas.getStanding), getStanding(standing))
  const content = { ...context, notifications, templates: context.store.templates }
  http.get('/v1/notifications/:id/content', allow('readOutcome', schemas.getContent), getContent(content))
  const acting = { ...context, notifications, resubmit: createResubmit(context) }
  const { cancelNotification: cancel, resendNotification: resend } = schemas
  http.post('/v1/notifications/:id/cancel', allow('actOnNotification', cancel), cancelNotification(acting))
  http.post('/v1/notifications/:id/resend', allow('actOnNotification', resend), resendNotification(acting))
  const stream = { exposeHeadRoute: false, ...allow('readOutcome', schemas.streamNotification) }
  http.get('/v1/notifications/:id/stream', stream, streamNotification(searched))
}

/** The providers, their breakers and their pauses. */
export function providerRoutes(http: Http, context: RouteContext): void {
  const { allow, allowRecent } = createRouteBuilders(context.access)
  const { providerPauses: pauses, providerOrders: orders, providerActivity: activityStore } = context.store
  const all = { ...context, pauses, orders, activityStore }
  const { listProviders, getProvider, pauseProvider, resumeProvider, testProvider: test } = providerSchemas
  const testing = { ...all, test: testProvider }
  http.post('/v1/providers/:name/test', allowRecent('manage', test), providers.testProvider(testing))
  http.get('/v1/providers', allow('readDelivery', listProviders), providers.listProviders(all))
  const { getProviderOrder: getOrder, updateProviderOrder: updateOrder } = providerSchemas
  http.get('/v1/providers/order', allow('readDelivery', getOrder), getProviderOrder(all))
  http.put('/v1/providers/order', allowRecent('manage', updateOrder), updateProviderOrder(all))
  http.get('/v1/providers/:name', allow('readDelivery', getProvider), providers.getProvider(all))
  http.post('/v1/providers/:name/pause', allowRecent('manage', pauseProvider), providers.pauseProvider(all))
  http.post('/v1/providers/:name/resume', allow('manage', resumeProvider), providers.resumeProvider(all))
}

function createResubmit({ accept }: RouteContext): Resubmit {
  return async (request, resendOf) => {
    const result = await accept.one({ request, source: 'resend', resendOf })
    if ('refused' in result) throw result.refused
    if ('parked' in result) throw new Error('an event that is sent again was neither accepted nor refused')
    return 'accepted' in result ? result.accepted : undefined
  }
}
