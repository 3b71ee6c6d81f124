import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { systemClock } from '@gatehouse/kit'
import { forwardRequest, type ResponseStart } from '../../src/proxy/forward-request.ts'
import { openUpstream } from '../../src/proxy/upstream.ts'
import { startForwardingServer } from '../support/forwarding-server.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

// A response without a length ends with its connection for clients of HTTP/1.0: only a reset says that it is not whole.

/** Sends a request of HTTP/1.0. */
function ask(url: string) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write('GET /orders HTTP/1.0\r\n\r\n')
  return socket
}

async function before(context: TestContext, listener: RequestListener) {
  const upstream = await startUpstream(context, listener)
  const made = await setup({
    routes: [{ path: '/*', public: true, upstream: 'app' }],
    upstreams: { app: { url: upstream.url } },
  })
  return { ...made, url: await listen(context, made) }
}

test('HTTP/1.0: a response without a length that breaks off is reset', async (context) => {
  const { url } = await before(context, (_req, res) => res.write('half', () => res.destroy()))
  await assert.rejects(text(ask(url)), { code: 'ECONNRESET' })
})

test('HTTP/1.0: a whole response without a length ends in order', async (context) => {
  const { url } = await before(context, (_req, res) => void res.write('half', () => res.end(' and half')))
  assert.match(await text(ask(url)), /\r\n\r\nhalf and half$/)
})

test('HTTP/1.0: a stream is reset when the gateway stops', async (context) => {
  const { url, http } = await before(context, (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/x-ndjson' }).write('{}\n')
  })
  const client = ask(url)
  await once(client, 'data')
  const rest = assert.rejects(text(client), { code: 'ECONNRESET' })
  await http.close()
  await rest
})

test('HTTP/1.0: a response that the gateway ends is reset', async (context) => {
  const { url: address } = await startUpstream(context, (_req, res) => void res.write('half'))
  const upstream = openUpstream('app', { url: address }, { clock: systemClock })
  const begun = Promise.withResolvers<ResponseStart>()
  const { url } = await startForwardingServer(context, upstream, (raw, response) => {
    const onResponse = begun.resolve
    forwardRequest(upstream, { raw, response, target: '/', headers: [], gatewayHeaders: {}, onResponse })
  })
  const client = ask(url)
  await once(client, 'data')
  const { end } = await begun.promise
  const rest = assert.rejects(text(client), { code: 'ECONNRESET' })
  end()
  await rest
})
