/** A limit before every route of a Fastify app: `npx node examples/limiter/fastify.ts`, then `curl -i localhost:3000/hello`. */
import { createLimiter, tierPolicy } from '@gatehouse/limiter'
import { limitFastify } from '@gatehouse/limiter/fastify'
import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify'

export function fastifyExample(): FastifyInstance {
  const app = fastify()
  app.addHook(
    'onRequest',
    limitFastify<FastifyRequest>({
      limiter: createLimiter(),
      policy: tierPolicy('free', { rpm: 10, daily: 1_000 }),
      identify: (request) => ({ kind: 'ip', id: request.ip }),
    }),
  )
  app.get('/hello', () => ({ hello: 'world' }))
  return app
}

if (import.meta.main) console.log(await fastifyExample().listen({ port: 3_000 }))
