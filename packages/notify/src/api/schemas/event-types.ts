import { IfMatchHeaders, PageQuery, pageSchema } from '@gatehouse/kit'
import { Type } from 'typebox'
import { EventTypeDeclaration, EventTypeName, EventTypeSettings } from '../../catalog/declaration.ts'
import { describeOperation } from '../../request/route-options.ts'
import { NoContent } from '../../request/schemas.ts'

/** The parameters of `/v1/event-types/{event}` for one that exists. */
export const EventTypeParams = Type.Object({
  event: Type.String({ minLength: 1, maxLength: 200, description: 'The event type.' }),
})

const EventTypeRecord = Type.Object(
  {
    ...EventTypeDeclaration.properties,
    reserved: Type.Optional(Type.Boolean({ description: 'True where the configuration alone changes it' })),
  },
  { title: 'EventType' },
)

const NewEventTypeParams = Type.Object({ event: EventTypeName })

/** GET /v1/event-types */
export const listEventTypes = describeOperation('eventTypes.list', {
  querystring: PageQuery,
  response: { 200: pageSchema(EventTypeRecord) },
})

/** GET /v1/event-types/{event} */
export const getEventType = describeOperation('eventTypes.get', {
  params: EventTypeParams,
  response: { 200: EventTypeRecord },
})

/** PUT /v1/event-types/{event} */
export const updateEventType = describeOperation('eventTypes.update', {
  params: NewEventTypeParams,
  headers: IfMatchHeaders,
  body: EventTypeSettings,
  response: { 200: EventTypeRecord },
})

/** DELETE /v1/event-types/{event} */
export const deleteEventType = describeOperation('eventTypes.delete', {
  params: EventTypeParams,
  response: { 204: NoContent },
})
