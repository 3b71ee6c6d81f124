import { type Clock, type Http, Problem } from '@gatehouse/kit'
import { type Static, Type } from 'typebox'
import type { CatalogKeeper } from '../catalog/catalog.ts'
import type { Reserved } from '../catalog/reserved.ts'
import {
  EventTypeDeclaration,
  EventTypeName,
  EventTypeSettings,
  eventTypeOf,
  eventTypeRecord,
} from '../config/declaration.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { Audit } from '../context/audit.ts'
import type { AccessControl } from '../request/caller.ts'
import { type OperationId, operation } from '../request/operations.ts'
import type { EventTypes } from '../store/store.ts'

export interface EventTypeRoutes {
  readonly access: AccessControl
  readonly audit: Audit
  readonly store: EventTypes
  readonly catalog: CatalogKeeper
  readonly reserved: Reserved
  readonly options: NotifyOptions
  readonly clock: Clock
}

const Params = Type.Object({ event: Type.String({ minLength: 1, maxLength: 200, description: 'The event type.' }) })

/** The management of event types. */
export function eventTypeEndpoints(
  http: Http,
  { access, audit, store, catalog, reserved, options, clock }: EventTypeRoutes,
): void {
  const about = (id: OperationId, required: 'readSettings' | 'manage' = 'manage') => ({
    tags: ['event types'],
    ...operation(id),
    security: access.security(required),
  })
  const find = async (event: string) => (await store.list()).find((each) => each.event === event)
  const one = async (event: string) => {
    const found = await find(event)
    if (!found) throw missing(event)
    return eventTypeRecord(found)
  }

  http.get(
    '/v1/event-types',
    {
      onRequest: access.allow('readSettings'),
      schema: {
        ...about('eventTypes.list', 'readSettings'),
        response: { 200: Type.Object({ event_types: Type.Array(EventTypeDeclaration) }) },
      },
    },
    async () => ({ event_types: (await store.list()).map(eventTypeRecord) }),
  )
  http.get(
    '/v1/event-types/:event',
    {
      onRequest: access.allow('readSettings'),
      schema: { ...about('eventTypes.get', 'readSettings'), params: Params, response: { 200: EventTypeDeclaration } },
    },
    (request) => one(request.params.event),
  )
  http.put(
    '/v1/event-types/:event',
    {
      onRequest: access.allow('manage'),
      schema: {
        ...about('eventTypes.update'),
        params: Type.Object({ event: EventTypeName }),
        body: EventTypeSettings,
        response: { 200: EventTypeDeclaration },
      },
    },
    async (request) => {
      const settings = request.body as Static<typeof EventTypeSettings>
      reserved.refuseEventType(request.params.event)
      reserved.refuseTemplate(settings.template_id ?? request.params.event)
      await refuseUnknownTemplate(settings.template_id, catalog)
      const eventType = eventTypeOf(request.params.event, settings, options.aggregationThreshold)
      const before = await find(eventType.event)
      await audit(request, {
        action: before ? 'event-types.update' : 'event-types.create',
        target: { type: 'event-type', id: eventType.event },
        ...(before ? { before: eventTypeRecord(before) } : {}),
        after: eventTypeRecord(eventType),
      })
      await store.put(eventType, clock.now())
      return eventTypeRecord(eventType)
    },
  )
  http.delete(
    '/v1/event-types/:event',
    {
      onRequest: access.allow('manage'),
      schema: { ...about('eventTypes.delete'), params: Params, response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      const { event } = request.params
      reserved.refuseEventType(event)
      const target = { type: 'event-type', id: event }
      await audit(request, { action: 'event-types.delete', target, before: await one(event) })
      if (!(await store.remove(event))) throw missing(event)
      return reply.code(204).send(null)
    },
  )
}

function missing(event: string): Problem {
  return new Problem(404, `There is no event type ${event}.`)
}

/** 422 for a template that is named and isn't there; the default, the event type's own name, may come later. */
async function refuseUnknownTemplate(templateId: string | undefined, catalog: CatalogKeeper): Promise<void> {
  if (templateId === undefined || (await catalog.current()).hasTemplate(templateId)) return
  const detail = `names the template ${templateId}, which has no published text`
  throw new Problem(422, `The member template_id ${detail}.`, { errors: [{ pointer: '/template_id', detail }] })
}
