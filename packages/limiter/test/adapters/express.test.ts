import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createLimiter, definePolicy, type Identifier } from '@gatehouse/limiter'
import { limitExpress } from '@gatehouse/limiter/express'
import express, { type NextFunction, type Request, type Response } from 'express'

const policy = definePolicy('express', [{ name: 'express', limit: 1, windowMs: 60_000 }])

test('a request that was answered before its decision goes no further, allowed or rejected', async (context) => {
  const identified = [Promise.withResolvers<Identifier>(), Promise.withResolvers<Identifier>()]
  const decided: Promise<unknown>[] = []
  const passedOn: unknown[] = []
  let nth = 0
  const limit = limitExpress<Request>({
    limiter: createLimiter(),
    policy,
    identify: () => identified[nth++]?.promise,
  })
  const app = express()
  app.use((request: Request, response: Response, next: NextFunction) => {
    const proceed = (error?: unknown) => {
      passedOn.push(error)
      next(error)
    }
    decided.push(limit(request, response, proceed))
    response.status(503).end('too slow')
  })
  const server = createServer(app).listen(0, '127.0.0.1')
  context.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  for (const { resolve } of identified) {
    const response = await fetch(`http://127.0.0.1:${port}/`)
    assert.deepEqual([response.status, await response.text()], [503, 'too slow'])
    resolve({ kind: 'user', id: 'alice' })
  }
  await Promise.all(decided)
  assert.deepEqual([decided.length, passedOn], [2, []])
})
