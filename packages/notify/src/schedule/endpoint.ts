import { type Http, instantOf, Problem } from '@gatehouse/kit'
import { Type } from 'typebox'
import type { Guards } from '../caller.ts'
import type { CatalogKeeper } from '../catalog.ts'
import { idPattern } from '../ids.ts'
import type { NotifyRequest } from '../notification.ts'
import { largestEventBytes, NotifyBody } from '../notify-body.ts'
import { problemOf } from '../request-problem.ts'
import type { Schedule, Scheduled } from '../store.ts'

const FireAt = Type.String({
  format: 'date-time',
  description: 'When it fires, RFC 3339',
  examples: ['2026-12-24T18:00:00Z'],
})
const Id = Type.Object({ id: Type.String({ pattern: idPattern, description: 'An id that was given here, a UUID.' }) })
const ScheduledRecord = Type.Object(
  {
    id: Type.String(),
    fire_at: FireAt,
    payload: Type.Object({}, { additionalProperties: true }),
  },
  { title: 'Scheduled' },
)

/** /v1/scheduled: notifications for later, as records of id, fire_at and payload. */
export function scheduleEndpoints(http: Http, guards: Guards, schedule: Schedule, catalog: CatalogKeeper): void {
  const about = (summary: string) => ({ tags: ['scheduled'], summary, security: [{ bearer: [guards.scopes.write] }] })
  const find = async (id: string) => {
    const found = await schedule.find(id)
    if (!found) throw new Problem(404, `Nothing is scheduled as ${id}; it may have fired.`)
    return found
  }

  http.post(
    '/v1/scheduled',
    {
      onRequest: guards.write,
      bodyLimit: largestEventBytes,
      schema: {
        ...about('Schedules a notification'),
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
        .send(written({ id, fireAt, payload }) as never)
    },
  )
  http.get(
    '/v1/scheduled',
    {
      onRequest: guards.write,
      schema: {
        ...about('What is scheduled for a user, soonest first'),
        querystring: Type.Object(
          { user_id: Type.String({ minLength: 1, maxLength: 256 }) },
          { additionalProperties: false },
        ),
        response: { 200: Type.Object({ scheduled: Type.Array(ScheduledRecord) }) },
      },
    },
    async (request) => ({ scheduled: (await schedule.list(request.query.user_id)).map(written) }) as never,
  )
  http.get(
    '/v1/scheduled/:id',
    {
      onRequest: guards.write,
      schema: { ...about('One that is scheduled'), params: Id, response: { 200: ScheduledRecord } },
    },
    async (request) => written(await find(request.params.id)) as never,
  )
  http.delete(
    '/v1/scheduled/:id',
    {
      onRequest: guards.write,
      schema: { ...about('Cancels one that has not fired'), params: Id, response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      if (!(await schedule.cancel(request.params.id)))
        throw new Problem(404, `Nothing is scheduled as ${request.params.id}; it may have fired.`)
      return reply.code(204).send(null)
    },
  )
}

function written({ id, fireAt, payload }: Omit<Scheduled, 'source'>) {
  return { id, fire_at: new Date(fireAt).toISOString(), payload }
}
