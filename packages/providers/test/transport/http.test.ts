import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createHttpClient } from '../../src/transport/http.ts'

const never = new AbortController().signal

test('a request abandoned while it waited for a connection is never sent', async (t) => {
  const seen: string[] = []
  const firstResponse = Promise.withResolvers<void>()
  const server = createServer(async (request, response) => {
    seen.push(request.url ?? '')
    if (request.url === '/first') await firstResponse.promise
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = createHttpClient(new URL(`http://127.0.0.1:${port}`), { connections: 1, timeoutMs: 10_000 })
  t.after(async () => {
    await client.close()
    server.close()
  })
  const call = (path: string, signal = never) => client.request({ method: 'POST', path, body: '{}' }, signal)
  const first = call('/first')
  const impatient = new AbortController()
  const waiting = call('/waits', impatient.signal)
  impatient.abort(new Error('too late'))
  await assert.rejects(waiting, /too late/)
  firstResponse.resolve()
  assert.equal((await first).status, 200)
  assert.equal((await call('/quick')).status, 200)
  assert.deepEqual(seen, ['/first', '/quick'])
})

test('only the beginning of an endless response is read', async (t) => {
  const server = createServer((_request, response) => {
    const more = () => {
      while (response.write('x'.repeat(16_384)));
      response.once('drain', more)
    }
    more()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = createHttpClient(new URL(`http://127.0.0.1:${port}`), { timeoutMs: 10_000 })
  t.after(async () => {
    await client.close()
    server.closeAllConnections()
    server.close()
  })
  const { status, body } = await client.request({ method: 'GET', path: '/' }, never)
  assert.deepEqual([status, body.length], [200, 65_536])
})
