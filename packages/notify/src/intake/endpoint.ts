import type { FastifyReply, FastifyRequest } from 'fastify'
import type { NotifyRequest } from '../model/notification.ts'
import type { Accept } from './accept.ts'

/** POST /v1/notify: 202 once the event is committed, whatever became of its channels. */
export function submitEvent(accept: Accept) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const result = await accept.one({ request: request.body as NotifyRequest, source: 'http' })
    if ('refused' in result) throw result.refused
    if (!('accepted' in result)) throw new Error('a submitted event was neither accepted nor refused')
    return reply.code(202).send(result.accepted)
  }
}
