/** A limit before a web-standard handler, as Hono, Next and workers take it; without a server of its own. */
import { createLimiter, tierPolicy } from '@gatehouse/limiter'
import { limitFetch } from '@gatehouse/limiter/fetch'

export const handler = limitFetch(
  {
    limiter: createLimiter(),
    policy: tierPolicy('free', { rpm: 10, daily: 1_000 }),
    identify: (request) => {
      const key = request.headers.get('x-client-id')
      return key === null ? undefined : { kind: 'client', id: key }
    },
    route: '/hello',
    ietf: 'draft-11',
  },
  () => Response.json({ hello: 'world' }),
)

if (import.meta.main)
  for (let i = 0; i < 11; i++) {
    const response = await handler(new Request('http://localhost/hello', { headers: { 'x-client-id': 'me' } }))
    console.log(response.status, response.headers.get('ratelimit'))
  }
