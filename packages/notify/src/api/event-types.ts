import {
  type Clock,
  entityTagOf,
  type IfMatchHeaders,
  type PageRequest,
  Problem,
  preconditionFailed,
  requireMatch,
  selectPage,
} from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { CatalogKeeper } from '../catalog/catalog.ts'
import {
  type EventTypeDeclaration,
  type EventTypeSettings,
  eventTypeOf,
  eventTypeRecord,
} from '../catalog/declaration.ts'
import type { Reserved } from '../catalog/reserved.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { Audit } from '../context/audit.ts'
import type { EventTypes } from '../store/store.ts'
import type { EventTypeParams } from './schemas/event-types.ts'

/** What the endpoints of event types need. */
export interface EventTypeContext {
  readonly audit: Audit
  readonly store: EventTypes
  readonly catalog: CatalogKeeper
  readonly reserved: Reserved
  readonly options: NotifyOptions
  readonly clock: Clock
}

type EventTypeRequest = FastifyRequest<{ Params: Static<typeof EventTypeParams> }>

/** GET /v1/event-types */
export function listEventTypes({ store, reserved }: EventTypeContext) {
  return async ({ query }: FastifyRequest<{ Querystring: PageRequest }>) => {
    const records = (await store.list()).map((eventType) => withReserved(eventTypeRecord(eventType), reserved))
    return selectPage(records, query, ({ event }) => event)
  }
}

function withReserved(record: EventTypeDeclaration, { eventTypes }: Reserved) {
  return eventTypes.has(record.event) ? { ...record, reserved: true } : record
}

/** GET /v1/event-types/{event} */
export function getEventType(context: EventTypeContext) {
  return async ({ params }: EventTypeRequest, reply: FastifyReply) => {
    const eventType = await readEventType(context, params.event)
    const record = withReserved(eventTypeRecord(eventType), context.reserved)
    return reply.header('etag', entityTagOf(eventType)).send(record)
  }
}

/** PUT /v1/event-types/{event} */
export function updateEventType(context: EventTypeContext) {
  const { audit, store, catalog, reserved, options, clock } = context
  return async (
    request: FastifyRequest<{
      Params: Static<typeof EventTypeParams>
      Body: Static<typeof EventTypeSettings>
      Headers: Static<typeof IfMatchHeaders>
    }>,
    reply: FastifyReply,
  ) => {
    const { params, body: settings, headers } = request
    const ifMatch = headers['if-match']
    reserved.refuseEventType(params.event)
    reserved.refuseTemplate(settings.template_id ?? params.event)
    await refuseUnknownTemplate(settings.template_id, catalog)
    const eventType = eventTypeOf(params.event, settings, options.aggregationThreshold)
    const before = await findEventType(context, eventType.event)
    requireMatch(ifMatch, before && entityTagOf(before))
    await audit(request, {
      action: before ? 'event-types.update' : 'event-types.create',
      target: { type: 'event-type', id: eventType.event },
      ...(before ? { before: eventTypeRecord(before) } : {}),
      after: eventTypeRecord(eventType),
    })
    if (!(await store.put(eventType, clock.now(), ifMatch === undefined ? undefined : before))) {
      const current = await findEventType(context, eventType.event)
      throw preconditionFailed(current && entityTagOf(current))
    }
    return reply.header('etag', entityTagOf(eventType)).send(eventTypeRecord(eventType))
  }
}

/** DELETE /v1/event-types/{event} */
export function deleteEventType(context: EventTypeContext) {
  return async (request: EventTypeRequest, reply: FastifyReply) => {
    const { event } = request.params
    context.reserved.refuseEventType(event)
    const target = { type: 'event-type', id: event }
    const before = eventTypeRecord(await readEventType(context, event))
    await context.audit(request, { action: 'event-types.delete', target, before })
    if (!(await context.store.remove(event))) throw notFound(event)
    return reply.code(204).send(null)
  }
}

async function findEventType({ store }: EventTypeContext, event: string) {
  return (await store.list()).find((each) => each.event === event)
}

async function readEventType(context: EventTypeContext, event: string) {
  const found = await findEventType(context, event)
  if (!found) throw notFound(event)
  return found
}

function notFound(event: string): Problem {
  return new Problem(404, `There is no event type ${event}.`)
}

/** @throws Problem 422 for a template that is named and does not exist; the default, the event's own name, may follow */
async function refuseUnknownTemplate(templateId: string | undefined, catalog: CatalogKeeper): Promise<void> {
  if (templateId === undefined || (await catalog.current()).hasTemplate(templateId)) return
  const detail = `names the template ${templateId}, which has no published text`
  throw new Problem(422, `The member template_id ${detail}.`, { errors: [{ pointer: '/template_id', detail }] })
}
