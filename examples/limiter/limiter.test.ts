import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { expressExample } from './express.ts'
import { fastifyExample } from './fastify.ts'
import { handler } from './fetch.ts'

/** Asks eleven times for what may be had ten times a minute. */
async function askEleven(ask: () => Promise<Response>): Promise<void> {
  const first = await ask()
  assert.deepEqual([first.status, await first.json()], [200, { hello: 'world' }])
  assert.equal(first.headers.get('x-ratelimit-limit'), '10')
  assert.equal(first.headers.get('x-ratelimit-remaining'), '9')
  assert(Number(first.headers.get('x-ratelimit-reset')) > Date.now() / 1000 - 1)
  assert.equal(first.headers.get('retry-after'), null)
  for (let i = 0; i < 9; i++) assert.equal((await ask()).status, 200)
  const rejected = await ask()
  assert.equal(rejected.status, 429)
  assert(Number(rejected.headers.get('retry-after')) >= 1)
  assert.match(rejected.headers.get('content-type') ?? '', /^application\/problem\+json/)
  assert.deepEqual(await rejected.json(), {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    'violated-policies': ['rpm'],
  })
}

test('a Fastify app answers 429 and Retry-After to the eleventh request of a minute', async (t) => {
  const app = fastifyExample()
  t.after(() => app.close())
  const address = await app.listen({ port: 0 })
  await askEleven(() => fetch(`${address}/hello`))
})

test('an Express app answers 429 and Retry-After to the eleventh request of a minute', async (t) => {
  const server = createServer(expressExample())
  t.after(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await askEleven(() => fetch(`http://127.0.0.1:${port}/hello`))
})

test('a web-standard handler answers 429 and Retry-After to the eleventh request of a minute', async () => {
  const request = () => new Request('http://localhost/hello', { headers: { 'x-client-id': 'me' } })
  await askEleven(() => handler(request()))
  assert.equal((await handler(new Request('http://localhost/hello'))).status, 200)
})
