import type { Http } from '@gatehouse/kit'
import type { NotifyRequest } from '../model/notification.ts'
import type { AccessControl } from '../request/caller.ts'
import { AcceptanceBody, maxEventBytes, NotifyBody } from '../request/notify-body.ts'
import { operation } from '../request/operations.ts'
import type { Accept } from './accept.ts'

/** POST /v1/notify: 202 once the event is committed, whatever became of its channels. */
export function notifyEndpoint(http: Http, access: AccessControl, accept: Accept): void {
  http.post(
    '/v1/notify',
    {
      bodyLimit: maxEventBytes,
      onRequest: access.allow('produce'),
      schema: {
        tags: ['notifications'],
        ...operation('notifications.send'),
        security: access.security('produce'),
        body: NotifyBody,
        response: { 202: AcceptanceBody },
      },
    },
    async (request, reply) => {
      const result = await accept.one({ request: request.body as NotifyRequest, source: 'http' })
      if ('refused' in result) throw result.refused
      if (!('accepted' in result))
        throw new Error('an event that settles nothing and waits for its answer was neither taken nor refused')
      return reply.code(202).send(result.accepted as never)
    },
  )
}
