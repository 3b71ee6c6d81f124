import { createPage, defaultPageSize, instantOf, Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { CatalogKeeper } from '../catalog/catalog.ts'
import type { Audit } from '../context/audit.ts'
import { maskRequest } from '../model/masking.ts'
import type { NotifyRequest } from '../model/notification.ts'
import { type AccessControl, otherUserProblem } from '../request/caller.ts'
import { problemOf } from '../request/request-problem.ts'
import type { Access } from '../request/scopes.ts'
import type { Schedule, Scheduled } from '../store/store.ts'
import type { NewScheduled, ScheduledParams, ScheduledQuery } from './schema.ts'

/** What the endpoints of scheduled notifications need. */
export interface ScheduleContext {
  readonly access: AccessControl
  readonly audit: Audit
  readonly schedule: Schedule
  readonly catalog: CatalogKeeper
  /** Called with what was scheduled, and for when (Unix milliseconds). */
  readonly onScheduled: (id: string, fireAt: number) => void
}

type ScheduledRequest = FastifyRequest<{ Params: Static<typeof ScheduledParams> }>

/** POST /v1/scheduled: 201 once it is stored; preferences and caps apply when it fires. */
export function createScheduled(context: ScheduleContext) {
  return async (request: FastifyRequest<{ Body: Static<typeof NewScheduled> }>, reply: FastifyReply) => {
    const payload = request.body.payload as NotifyRequest
    const problem = problemOf(payload, await context.catalog.current(), '/payload')
    if (problem) throw problem
    const fireAt = instantOf(request.body.fire_at, '/fire_at')
    const id = await context.schedule.add(fireAt, payload)
    context.onScheduled(id, fireAt)
    return reply
      .code(201)
      .header('location', `/v1/scheduled/${id}`)
      .send(formatForCaller(context, request, { id, fireAt, payload }))
  }
}

/** GET /v1/scheduled?user_id=…: those of one user, the soonest first. */
export function listScheduled(context: ScheduleContext) {
  return async (request: FastifyRequest<{ Querystring: Static<typeof ScheduledQuery> }>) => {
    const { user_id: userId, cursor, limit = defaultPageSize } = request.query
    if (!context.access.canSee(request, userId, 'readScheduled')) throw otherUserProblem()
    const scheduled = await context.schedule.list(userId, parseCursor(cursor), limit)
    const { items, next } = createPage(
      scheduled,
      request.query,
      ({ fireAt, id }) => `${new Date(fireAt).toISOString()}_${id}`,
    )
    const visible = items.map((each) => formatForCaller(context, request, each))
    return { items: visible, ...(next === undefined ? {} : { next }) }
  }
}

/** GET /v1/scheduled/{id}: one that has not fired. */
export function getScheduled(context: ScheduleContext) {
  return async (request: ScheduledRequest) =>
    formatForCaller(context, request, await findVisible(context, request, 'readScheduled'))
}

/** DELETE /v1/scheduled/{id}: 404 once it has fired. */
export function cancelScheduled(context: ScheduleContext) {
  const { access, audit, schedule } = context
  return async (request: ScheduledRequest, reply: FastifyReply) => {
    const { id } = request.params
    const { fireAt, payload } = await findVisible(context, request, 'cancelScheduled')
    if (access.manages(request)) {
      const before = { event: payload.event, user_id: payload.user_id, fire_at: new Date(fireAt).toISOString() }
      await audit(request, { action: 'scheduled.cancel', target: { type: 'scheduled', id }, before })
    }
    if (!(await schedule.cancel(id))) throw notFound(id)
    return reply.code(204).send(null)
  }
}

function parseCursor(cursor: string | undefined): Pick<Scheduled, 'fireAt' | 'id'> | undefined {
  const [fireAt = '', id] = cursor?.split('_') ?? []
  return id === undefined ? undefined : { fireAt: instantOf(fireAt, '/cursor'), id }
}

async function findVisible({ access, schedule }: ScheduleContext, request: ScheduledRequest, needed: Access) {
  const { id } = request.params
  const found = await schedule.find(id)
  if (!found || !access.canSee(request, found.payload.user_id, needed)) throw notFound(id)
  return found
}

function notFound(id: string): Problem {
  return new Problem(404, `Nothing is scheduled as ${id}; it may have fired.`)
}

function formatForCaller(
  { access }: ScheduleContext,
  request: FastifyRequest,
  { id, fireAt, payload }: Omit<Scheduled, 'source'>,
) {
  const visible = access.masks(request, payload.user_id) ? maskRequest(payload) : payload
  return { id, fire_at: new Date(fireAt).toISOString(), payload: { ...visible } }
}
