import { type Http, instantOf, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { CatalogKeeper } from '../catalog/catalog.ts'
import type { Audit } from '../context/audit.ts'
import { idPattern } from '../model/id.ts'
import { maskRequest } from '../model/masking.ts'
import type { NotifyRequest } from '../model/notification.ts'
import { type AccessControl, otherUserProblem } from '../request/caller.ts'
import { maxEventBytes, NotifyBody } from '../request/notify-body.ts'
import { type OperationId, operation } from '../request/operations.ts'
import { problemOf } from '../request/request-problem.ts'
import type { Access } from '../request/scopes.ts'
import type { Schedule, Scheduled } from '../store/store.ts'

const FireAt = Type.String({
  format: 'date-time',
  description: 'When it fires, RFC 3339',
  examples: ['2026-12-24T18:00:00Z'],
})
const Id = Type.Object({ id: Type.String({ pattern: idPattern, description: 'A UUID that this API issued.' }) })
const ScheduledRecord = Type.Object(
  {
    id: Type.String(),
    fire_at: FireAt,
    payload: Type.Object({}, { additionalProperties: true }),
  },
  { title: 'Scheduled' },
)

export interface ScheduleRoutes {
  readonly access: AccessControl
  readonly audit: Audit
  readonly schedule: Schedule
  readonly catalog: CatalogKeeper
}

/** /v1/scheduled: notifications for later, as records of id, fire_at and payload. */
export function scheduleEndpoints(http: Http, { access, audit, schedule, catalog }: ScheduleRoutes): void {
  const about = (id: OperationId, required: Access) => ({
    tags: ['scheduled'],
    ...operation(id),
    security: access.security(required),
  })
  const shown = (request: FastifyRequest, each: Omit<Scheduled, 'source'>) => {
    const masks = access.masks(request, each.payload.user_id)
    return written(masks ? { ...each, payload: maskRequest(each.payload) } : each)
  }
  const find = async (request: FastifyRequest, id: string, needed: Access) => {
    const found = await schedule.find(id)
    if (!found || !access.canSee(request, found.payload.user_id, needed)) throw missing(id)
    return found
  }

  http.post(
    '/v1/scheduled',
    {
      onRequest: access.allow('produce'),
      bodyLimit: maxEventBytes,
      schema: {
        ...about('scheduled.create', 'produce'),
        body: Type.Object({ fire_at: FireAt, payload: NotifyBody }, { additionalProperties: false }),
        response: { 201: ScheduledRecord },
      },
    },
    async (request, reply) => {
      const payload = request.body.payload as NotifyRequest
      const problem = problemOf(payload, await catalog.current(), '/payload')
      if (problem) throw problem
      const fireAt = instantOf(request.body.fire_at, '/fire_at')
      const id = await schedule.add(fireAt, payload)
      return reply
        .code(201)
        .header('location', `/v1/scheduled/${id}`)
        .send(shown(request, { id, fireAt, payload }) as never)
    },
  )
  http.get(
    '/v1/scheduled',
    {
      onRequest: access.allow('readScheduled'),
      schema: {
        ...about('scheduled.list', 'readScheduled'),
        querystring: Type.Object(
          { user_id: Type.String({ minLength: 1, maxLength: 256, description: 'The user.' }) },
          { additionalProperties: false },
        ),
        response: { 200: Type.Object({ scheduled: Type.Array(ScheduledRecord) }) },
      },
    },
    async (request) => {
      const { user_id: userId } = request.query
      if (!access.canSee(request, userId, 'readScheduled')) throw otherUserProblem()
      const scheduled = await schedule.list(userId)
      return { scheduled: scheduled.map((each) => shown(request, each)) } as never
    },
  )
  http.get(
    '/v1/scheduled/:id',
    {
      onRequest: access.allow('readScheduled'),
      schema: { ...about('scheduled.get', 'readScheduled'), params: Id, response: { 200: ScheduledRecord } },
    },
    async (request) => shown(request, await find(request, request.params.id, 'readScheduled')) as never,
  )
  http.delete(
    '/v1/scheduled/:id',
    {
      onRequest: access.allow('cancelScheduled'),
      schema: {
        ...about('scheduled.cancel', 'cancelScheduled'),
        params: Id,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const { fireAt, payload } = await find(request, id, 'cancelScheduled')
      if (access.manages(request)) {
        const before = { event: payload.event, user_id: payload.user_id, fire_at: new Date(fireAt).toISOString() }
        await audit(request, { action: 'scheduled.cancel', target: { type: 'scheduled', id }, before })
      }
      if (!(await schedule.cancel(id))) throw missing(id)
      return reply.code(204).send(null)
    },
  )
}

function missing(id: string): Problem {
  return new Problem(404, `Nothing is scheduled as ${id}; it may have fired.`)
}

function written({ id, fireAt, payload }: Omit<Scheduled, 'source'>) {
  return { id, fire_at: new Date(fireAt).toISOString(), payload }
}
