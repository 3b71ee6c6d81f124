/** A limit before every route of an Express app: `npx node examples/limiter/express.ts`, then `curl -i localhost:3000/hello`. */
import { createLimiter, tierPolicy } from '@gatehouse/limiter'
import { limitExpress } from '@gatehouse/limiter/express'
import express, { type Express, type Request } from 'express'

export function expressExample(): Express {
  const app = express()
  app.use(
    limitExpress<Request>({
      limiter: createLimiter(),
      policy: tierPolicy('free', { rpm: 10, daily: 1_000 }),
      identify: (request) => ({ kind: 'ip', id: request.socket.remoteAddress ?? 'unknown' }),
    }),
  )
  app.get('/hello', (_request, response) => {
    response.json({ hello: 'world' })
  })
  return app
}

if (import.meta.main) expressExample().listen(3_000, () => console.log('http://localhost:3000'))
