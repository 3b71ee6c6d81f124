import type { Http } from '@gatehouse/kit'
import { createRouteBuilders } from './request/route-options.ts'
import type { RouteContext } from './route-context.ts'
import { getDelivery, listDeliveries } from './trace/deliveries.ts'
import { listNotifications } from './trace/notifications.ts'
import * as schemas from './trace/schemas.ts'

/** Finding notifications and deliveries, and following them. */
export function traceRoutes(http: Http, context: RouteContext): void {
  const { notifications, search } = context.store
  const { allow } = createRouteBuilders(context.access)
  const searched = { ...context, notifications, search }
  http.get('/v1/notifications', allow('readOutcome', schemas.listNotifications), listNotifications(searched))
  http.get('/v1/deliveries', allow('readDelivery', schemas.listDeliveries), listDeliveries(searched))
  http.get('/v1/deliveries/:id', allow('readOutcome', schemas.getDelivery), getDelivery(searched))
}
