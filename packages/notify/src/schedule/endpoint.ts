import {
  createPage,
  defaultPageSize,
  entityTagOf,
  instantOf,
  Problem,
  preconditionFailed,
  requireMatch,
} from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { type Catalog, type CatalogKeeper, isSecret } from '../catalog/catalog.ts'
import type { Audit } from '../context/audit.ts'
import { exactTime } from '../model/exact-time.ts'
import { newIdOfUser } from '../model/id.ts'
import { maskData, maskRequest } from '../model/masking.ts'
import type { NotifyRequest } from '../model/notification/notification.ts'
import { type AccessControl, otherUserProblem } from '../request/caller.ts'
import { problemOf } from '../request/request-problem.ts'
import type { Access } from '../request/scopes.ts'
import type { SearchSlots } from '../request/search-slots.ts'
import type { Schedule, Scheduled } from '../store/store.ts'
import type { NewScheduled, ScheduledMove, ScheduledParams, ScheduledQuery } from './schema.ts'

/** What the endpoints of scheduled notifications need. */
export interface ScheduleContext {
  readonly access: AccessControl
  readonly audit: Audit
  readonly schedule: Schedule
  readonly catalog: CatalogKeeper
  readonly slots: SearchSlots
  /** Called with what was scheduled, and for when (Unix milliseconds). */
  readonly onScheduled: (id: string, fireAt: number) => void
}

type ScheduledRequest = FastifyRequest<{ Params: Static<typeof ScheduledParams> }>

/** POST /v1/scheduled: 201 once it is stored; preferences and caps apply when it fires. */
export function createScheduled(context: ScheduleContext) {
  return async (request: FastifyRequest<{ Body: Static<typeof NewScheduled> }>, reply: FastifyReply) => {
    const payload = request.body.payload as NotifyRequest
    const catalog = await context.catalog.current()
    const problem = problemOf(payload, catalog, '/payload')
    if (problem) throw problem
    const fireAt = instantOf(request.body.fire_at, '/fire_at')
    const id = newIdOfUser(payload.user_id)
    await auditCreation(context, request, { id, fireAt, payload })
    await context.schedule.add(fireAt, payload, id)
    context.onScheduled(id, fireAt)
    return reply
      .code(201)
      .header('location', `/v1/scheduled/${id}`)
      .send(formatForCaller({ ...context, catalog }, request, { id, fireAt, payload }))
  }
}

/** What the management schedules is in the audit trail, what producers do is not. */
async function auditCreation(
  { access, audit }: ScheduleContext,
  request: FastifyRequest,
  { id, fireAt, payload: { user_id: userId, event, channels } }: Pick<Scheduled, 'id' | 'fireAt' | 'payload'>,
): Promise<void> {
  if (!access.sendsAsManagement(request)) return
  const at = new Date(fireAt).toISOString()
  const after = { id, event, fire_at: at, ...(channels === undefined ? {} : { channels }) }
  await audit(request, { action: 'scheduled.create', target: { type: 'user', id: userId }, after })
}

/** GET /v1/scheduled: the soonest first; those of everybody for readers of deliveries alone. */
export function listScheduled(context: ScheduleContext) {
  const { access, schedule, slots } = context
  return async (request: FastifyRequest<{ Querystring: Static<typeof ScheduledQuery> }>) => {
    const { user_id: userId, event, from, to, cursor, limit = defaultPageSize } = request.query
    if (userId === undefined) access.refuseWithout(request, 'readDelivery')
    else if (!access.canSee(request, userId, 'readScheduled')) throw otherUserProblem()
    const filter = {
      ...(userId === undefined ? {} : { userId }),
      ...(event === undefined ? {} : { event }),
      ...(from === undefined ? {} : { from: instantOf(from, '/from') }),
      ...(to === undefined ? {} : { to: instantOf(to, '/to') }),
    }
    const scheduled = await slots.run(() => schedule.list(filter, parseCursor(cursor), limit))
    const { items, next } = createPage(scheduled, request.query, cursorOf)
    const catalog = await context.catalog.current()
    const visible = items.map((each) => formatForCaller({ access, catalog }, request, each))
    return { items: visible, ...(next === undefined ? {} : { next }) }
  }
}

/** PATCH /v1/scheduled/{id}: has it fire at another time; 404 once it has fired, 409 while it fires. */
export function moveScheduled(context: ScheduleContext) {
  const { access, audit, schedule, onScheduled } = context
  return async (
    request: FastifyRequest<{ Params: Static<typeof ScheduledParams>; Body: Static<typeof ScheduledMove> }>,
    reply: FastifyReply,
  ) => {
    const { id } = request.params
    const ifMatch = request.headers['if-match']
    const { fireAt: before, payload } = await findVisible(context, request, 'cancelScheduled')
    requireMatch(ifMatch, tagOf({ id, fireAt: before }))
    const fireAt = instantOf(request.body.fire_at, '/fire_at')
    const catalog = await context.catalog.current()
    if (access.manages(request))
      await audit(request, {
        action: 'scheduled.move',
        target: { type: 'scheduled', id },
        before: { fire_at: new Date(before).toISOString() },
        after: { fire_at: new Date(fireAt).toISOString() },
      })
    const moved = await schedule.move(id, fireAt, ifMatch === undefined ? undefined : before)
    if (moved === 'fired') throw notFound(id)
    if (moved === 'changed') {
      const current = await schedule.find(id)
      throw preconditionFailed(current && tagOf(current))
    }
    if (moved === 'firing') throw new Problem(409, `The notification ${id} is being sent at this moment.`)
    onScheduled(id, fireAt)
    reply.header('etag', tagOf({ id, fireAt }))
    return formatForCaller({ access, catalog }, request, { id, fireAt, payload })
  }
}

/** Of what can be edited of one: when it fires. */
const tagOf = ({ id, fireAt }: Pick<Scheduled, 'id' | 'fireAt'>) => entityTagOf({ id, fireAt })

/** GET /v1/scheduled/{id}: one that has not fired. */
export function getScheduled(context: ScheduleContext) {
  return async (request: ScheduledRequest, reply: FastifyReply) => {
    const found = await findVisible(context, request, 'readScheduled')
    const catalog = await context.catalog.current()
    reply.header('etag', tagOf(found))
    return formatForCaller({ ...context, catalog }, request, found)
  }
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

/** When it is due, to the microsecond, and its id. */
function cursorOf({ fireAt, microseconds = 0, id }: Scheduled): string {
  return `${exactTime(fireAt, microseconds)}_${id}`
}

function parseCursor(cursor: string | undefined): Pick<Scheduled, 'fireAt' | 'microseconds' | 'id'> | undefined {
  const [due = '', id] = cursor?.split('_') ?? []
  if (id === undefined) return undefined
  const [, microseconds = '0'] = /\.\d{3}(\d{3})/.exec(due) ?? []
  return { fireAt: instantOf(due, '/cursor'), microseconds: Number(microseconds), id }
}

async function findVisible(
  { access, schedule }: ScheduleContext,
  request: FastifyRequest<{ Params: Static<typeof ScheduledParams> }>,
  needed: Access,
) {
  const { id } = request.params
  const found = await schedule.find(id)
  if (!found || !access.canSee(request, found.payload.user_id, needed)) throw notFound(id)
  return found
}

function notFound(id: string): Problem {
  return new Problem(404, `Nothing is scheduled as ${id}; it may have fired.`)
}

/** As the caller may see it; the data of what is sensitive is masked for everybody, the user too. */
function formatForCaller(
  { access, catalog }: Pick<ScheduleContext, 'access'> & { readonly catalog: Catalog },
  request: FastifyRequest,
  { id, fireAt, payload, failures = 0, isUnderWay = false }: Omit<Scheduled, 'source'>,
) {
  const open = isSecret(catalog, payload.event) ? maskData(payload) : payload
  const visible = access.masks(request, payload.user_id) ? maskRequest(payload) : open
  return { id, fire_at: new Date(fireAt).toISOString(), payload: { ...visible }, failures, under_way: isUnderWay }
}
