/** What one would put together: Fastify with @fastify/rate-limit and @fastify/http-proxy, tokens verified by jose. */
import proxy from '@fastify/http-proxy'
import rateLimit from '@fastify/rate-limit'
import { fastify } from 'fastify'
import { createLocalJWKSet, type JWK, jwtVerify } from 'jose'
import { report, startOf } from './protocol.ts'

const { upstream, issuer, audience, jwk } = startOf()
const keys = createLocalJWKSet({ keys: [jwk as JWK] })
const subjects = new WeakMap<object, string>()
const http = fastify()

http.addHook('onRequest', async (request, reply) => {
  try {
    const token = request.headers.authorization?.slice('Bearer '.length) ?? ''
    const { payload } = await jwtVerify(token, keys, { issuer, audience, typ: 'at+jwt' })
    subjects.set(request.raw, payload.sub ?? '')
  } catch {
    return reply.code(401).send({ error: 'invalid_token' })
  }
})
await http.register(rateLimit, {
  max: 1_000_000,
  timeWindow: 60_000,
  cache: 10_000,
  hook: 'preHandler',
  keyGenerator: (request) => subjects.get(request.raw) ?? '',
})
await http.register(proxy, {
  upstream,
  prefix: '/orders',
  rewritePrefix: '/orders',
  replyOptions: {
    rewriteRequestHeaders: (request, { authorization: _own, ...headers }) => ({
      ...headers,
      'x-user': subjects.get(request.raw) ?? '',
    }),
  },
})
report(await http.listen({ port: 0, host: '127.0.0.1' }))
