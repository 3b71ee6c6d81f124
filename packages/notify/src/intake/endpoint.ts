import type { FastifyReply, FastifyRequest } from 'fastify'
import type { NotifyRequest } from '../model/notification/notification.ts'
import type { Accept } from './accept.ts'
import { auditSend, type SendContext } from './audited.ts'

/** POST /v1/notify: 202 once the event is committed, whatever became of its channels. */
export function submitEvent(context: SendContext & { readonly accept: Accept }) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const event = request.body as NotifyRequest
    await auditSend(context, request, event)
    const result = await context.accept.one({ request: event, source: 'http' })
    if ('refused' in result) throw result.refused
    if (!('accepted' in result)) throw new Error('a submitted event was neither accepted nor refused')
    return reply.code(202).send(result.accepted)
  }
}
