import { type Clock, type Http, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { CatalogKeeper } from '../catalog/catalog.ts'
import { ChannelList } from '../config/declaration.ts'
import type { Audit } from '../context/audit.ts'
import { timeOfDayPattern } from '../model/quiet-hours.ts'
import type { AccessControl } from '../request/caller.ts'
import { type OperationId, operation } from '../request/operations.ts'
import { unknownEventProblem } from '../request/request-problem.ts'
import type { Preference, Preferences } from '../store/store.ts'

const TimeOfDay = Type.String({ pattern: timeOfDayPattern, description: 'A time of day.', examples: ['22:00'] })

const PreferenceSettings = Type.Object(
  {
    channels: Type.Optional(
      Type.Array(ChannelList.items, {
        uniqueItems: true,
        description:
          'Channels allowed for the event type; an empty set means none. Left out: as for *, else the default',
      }),
    ),
    quiet_hours: Type.Optional(
      Type.Object(
        { start: TimeOfDay, end: TimeOfDay },
        {
          additionalProperties: false,
          description: "Local time of the user's zone; may wrap midnight; start = end means none",
        },
      ),
    ),
  },
  { title: 'PreferenceSettings', additionalProperties: false },
)

const PreferenceRecord = Type.Object(
  {
    user_id: Type.String(),
    event_type: Type.String(),
    ...PreferenceSettings.properties,
  },
  { title: 'Preference' },
)

const User = Type.Object({ id: Type.String({ minLength: 1, maxLength: 256, description: 'The user.' }) })
const EventTypeName = Type.String({ minLength: 1, maxLength: 200, description: 'An event type, or * for all others' })
const Entry = Type.Object({ ...User.properties, event_type: EventTypeName })

type UserRequest = FastifyRequest<{ Params: Static<typeof User> }>

export interface PreferenceRoutes {
  readonly access: AccessControl
  readonly audit: Audit
  readonly store: Preferences
  readonly catalog: CatalogKeeper
  readonly clock: Clock
}

/** A user's preferences, one record for each event type and one for `*`. */
export function preferenceEndpoints(http: Http, { access, audit, store, catalog, clock }: PreferenceRoutes): void {
  const about = (id: OperationId, required: 'readOwn' | 'changeOwn' = 'changeOwn') => ({
    tags: ['preferences'],
    ...operation(id),
    security: access.security(required),
  })
  const find = async (userId: string, eventType: string) =>
    (await store.list(userId)).find((each) => each.eventType === eventType)
  const auditChange = async (request: UserRequest, action: string, eventType: string, after?: Preference) => {
    const { id } = request.params
    if (!access.manages(request, id)) return
    const before = await find(id, eventType)
    if (!before && !after) throw missing(id, eventType)
    await audit(request, {
      action,
      target: { type: 'preference', id: `${id}/${eventType}` },
      ...(before ? { before: formatPreference(id, before) } : {}),
      ...(after ? { after: formatPreference(id, after) } : {}),
    })
  }
  const put = async (request: UserRequest, eventType: string, settings: Static<typeof PreferenceSettings>) => {
    const { id: userId } = request.params
    const known = await catalog.current()
    if (eventType !== '*' && !known.eventTypes.has(eventType))
      throw unknownEventProblem(eventType, known, '/event_type')
    const preference = preferenceOf(eventType, settings)
    await auditChange(request, 'preferences.update', eventType, preference)
    await store.put(userId, preference, clock.now())
    return formatPreference(userId, preference)
  }

  http.get(
    '/v1/users/:id/preferences',
    {
      onRequest: access.allowUnder('readOwn'),
      schema: {
        ...about('preferences.list', 'readOwn'),
        params: User,
        response: { 200: Type.Object({ preferences: Type.Array(PreferenceRecord) }) },
      },
    },
    async ({ params }) => ({
      preferences: (await store.list(params.id)).map((each) => formatPreference(params.id, each)),
    }),
  )
  http.put(
    '/v1/users/:id/preferences',
    {
      onRequest: access.allowUnder('changeOwn'),
      schema: {
        ...about('preferences.set'),
        params: User,
        body: Type.Object(
          { event_type: EventTypeName, ...PreferenceSettings.properties },
          { additionalProperties: false },
        ),
        response: { 200: PreferenceRecord },
      },
    },
    (request) => put(request, request.body.event_type, request.body as Static<typeof PreferenceSettings>),
  )
  http.get(
    '/v1/users/:id/preferences/:event_type',
    {
      onRequest: access.allowUnder('readOwn'),
      schema: { ...about('preferences.get', 'readOwn'), params: Entry, response: { 200: PreferenceRecord } },
    },
    async ({ params }) => {
      const found = await find(params.id, params.event_type)
      if (!found) throw missing(params.id, params.event_type)
      return formatPreference(params.id, found)
    },
  )
  http.put(
    '/v1/users/:id/preferences/:event_type',
    {
      onRequest: access.allowUnder('changeOwn'),
      schema: {
        ...about('preferences.update'),
        params: Entry,
        body: PreferenceSettings,
        response: { 200: PreferenceRecord },
      },
    },
    (request) => put(request, request.params.event_type, request.body as Static<typeof PreferenceSettings>),
  )
  http.delete(
    '/v1/users/:id/preferences/:event_type',
    {
      onRequest: access.allowUnder('changeOwn'),
      schema: { ...about('preferences.delete'), params: Entry, response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      const { params } = request
      await auditChange(request, 'preferences.remove', params.event_type)
      if (!(await store.remove(params.id, params.event_type))) throw missing(params.id, params.event_type)
      return reply.code(204).send(null)
    },
  )
}

function missing(userId: string, eventType: string): Problem {
  return new Problem(404, `The user ${userId} has no preference for ${eventType}.`)
}

function preferenceOf(eventType: string, { channels, quiet_hours }: Static<typeof PreferenceSettings>): Preference {
  return { eventType, ...(channels ? { channels } : {}), ...(quiet_hours ? { quietHours: quiet_hours } : {}) }
}

function formatPreference(
  userId: string,
  { eventType, channels, quietHours }: Preference,
): Static<typeof PreferenceRecord> {
  return {
    user_id: userId,
    event_type: eventType,
    ...(channels ? { channels: [...channels] } : {}),
    ...(quietHours ? { quiet_hours: quietHours } : {}),
  }
}
