import {
  type Clock,
  entityTagOf,
  type PageRequest,
  Problem,
  preconditionFailed,
  requireMatch,
  selectPage,
} from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { CatalogKeeper } from '../catalog/catalog.ts'
import type { Audit } from '../context/audit.ts'
import type { AccessControl } from '../request/caller.ts'
import { unknownEventProblem } from '../request/request-problem.ts'
import type { UserParams } from '../request/schemas.ts'
import type { Preference, Preferences } from '../store/store.ts'
import type * as schemas from './schemas/preferences.ts'

/** What the endpoints of preferences need. */
export interface PreferenceContext {
  readonly access: AccessControl
  readonly audit: Audit
  readonly store: Preferences
  readonly catalog: CatalogKeeper
  readonly clock: Clock
}

type Settings = Static<typeof schemas.PreferenceSettings>
type UserRequest<Body = unknown> = FastifyRequest<{ Params: Static<typeof UserParams>; Body: Body }>
type PreferenceRequest<Body = unknown> = FastifyRequest<{ Params: Static<typeof schemas.PreferenceParams>; Body: Body }>

/** GET /v1/users/{id}/preferences: one record for each event type and one for `*`. */
export function listPreferences({ store }: PreferenceContext) {
  return async ({ params, query }: FastifyRequest<{ Params: Static<typeof UserParams>; Querystring: PageRequest }>) => {
    const preferences = (await store.list(params.id)).map((each) => formatPreference(params.id, each))
    return selectPage(preferences, query, ({ event_type }) => event_type)
  }
}

/** PUT /v1/users/{id}/preferences: the event type stands in the body. */
export function setPreference(context: PreferenceContext) {
  return async (request: UserRequest<Static<typeof schemas.NamedPreferenceSettings>>, reply: FastifyReply) => {
    const put = await putPreference(context, request, request.body.event_type, request.body as Settings)
    return reply.header('etag', entityTagOf(put)).send(put)
  }
}

/** GET /v1/users/{id}/preferences/{event_type} */
export function getPreference(context: PreferenceContext) {
  return async ({ params }: PreferenceRequest, reply: FastifyReply) => {
    const found = await findPreference(context, params.id, params.event_type)
    if (!found) throw notFound(params.id, params.event_type)
    const preference = formatPreference(params.id, found)
    return reply.header('etag', entityTagOf(preference)).send(preference)
  }
}

/** PUT /v1/users/{id}/preferences/{event_type} */
export function updatePreference(context: PreferenceContext) {
  return async (request: PreferenceRequest<Settings>, reply: FastifyReply) => {
    const put = await putPreference(context, request, request.params.event_type, request.body)
    return reply.header('etag', entityTagOf(put)).send(put)
  }
}

/** DELETE /v1/users/{id}/preferences/{event_type} */
export function deletePreference(context: PreferenceContext) {
  return async (request: PreferenceRequest, reply: FastifyReply) => {
    const { params } = request
    context.access.refuseOldSignIn(request, params.id)
    await auditPreference(context, request, 'preferences.remove', { eventType: params.event_type })
    if (!(await context.store.remove(params.id, params.event_type))) throw notFound(params.id, params.event_type)
    return reply.code(204).send(null)
  }
}

async function putPreference(
  context: PreferenceContext,
  request: UserRequest,
  eventType: string,
  settings: Settings,
): Promise<Static<typeof schemas.PreferenceRecord>> {
  const { catalog, store, clock } = context
  const { id: userId } = request.params
  context.access.refuseOldSignIn(request, userId)
  const known = await catalog.current()
  if (eventType !== '*' && !known.eventTypes.has(eventType)) throw unknownEventProblem(eventType, known, '/event_type')
  const preference = parsePreference(eventType, settings)
  const ifMatch = request.headers['if-match']
  const before = ifMatch === undefined ? undefined : await findPreference(context, userId, eventType)
  requireMatch(ifMatch, before && tagOf(userId, before))
  await auditPreference(context, request, 'preferences.update', { eventType, after: preference })
  if (!(await store.put(userId, preference, clock.now(), before))) {
    const current = await findPreference(context, userId, eventType)
    throw preconditionFailed(current && tagOf(userId, current))
  }
  return formatPreference(userId, preference)
}

const tagOf = (userId: string, preference: Preference) => entityTagOf(formatPreference(userId, preference))

async function auditPreference(
  context: PreferenceContext,
  request: UserRequest,
  action: string,
  { eventType, after }: { readonly eventType: string; readonly after?: Preference },
): Promise<void> {
  const { id } = request.params
  if (!context.access.manages(request, id)) return
  const before = await findPreference(context, id, eventType)
  if (!before && !after) throw notFound(id, eventType)
  await context.audit(request, {
    action,
    target: { type: 'preference', id: `${id}/${eventType}` },
    ...(before ? { before: formatPreference(id, before) } : {}),
    ...(after ? { after: formatPreference(id, after) } : {}),
  })
}

async function findPreference({ store }: PreferenceContext, userId: string, eventType: string) {
  return (await store.list(userId)).find((each) => each.eventType === eventType)
}

function notFound(userId: string, eventType: string): Problem {
  return new Problem(404, `The user ${userId} has no preference for ${eventType}.`)
}

function parsePreference(eventType: string, { channels, quiet_hours }: Settings): Preference {
  return { eventType, ...(channels ? { channels } : {}), ...(quiet_hours ? { quietHours: quiet_hours } : {}) }
}

function formatPreference(
  userId: string,
  { eventType, channels, quietHours }: Preference,
): Static<typeof schemas.PreferenceRecord> {
  return {
    user_id: userId,
    event_type: eventType,
    ...(channels ? { channels: [...channels] } : {}),
    ...(quietHours ? { quiet_hours: quietHours } : {}),
  }
}
