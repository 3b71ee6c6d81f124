import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { type Problem, systemClock } from '@gatehouse/kit'
import { forwardRequest } from '../../src/proxy/forward-request.ts'
import { openUpstream } from '../../src/proxy/upstream.ts'
import { startForwardingServer } from '../support/forwarding-server.ts'
import { startUpstream } from '../support/setup.ts'

/** A server that forwards to an upstream of one connection, which an answer that does not end holds until `release`. */
async function withBusyUpstream(context: TestContext) {
  const begun = Promise.withResolvers<() => void>()
  const { url: address } = await startUpstream(context, (req, res) => {
    res.writeHead(200)
    if (req.url !== '/stream') res.end()
    else res.write('begun', () => begun.resolve(() => res.end()))
  })
  const upstream = openUpstream('orders', { url: address, connections: 1 }, { clock: systemClock })
  const { url, server } = await startForwardingServer(context, upstream, (raw, response) => {
    const target = raw.url ?? '/'
    forwardRequest(upstream, { raw, response, target, headers: [], gatewayHeaders: {} })
      .catch((problem: Problem) => response.writeHead(problem.status).end())
      .finally(() => server.emit('forwarded'))
  })
  const holder = fetch(`${url}/stream`).then((answer) => answer.text())
  const release = await begun.promise
  return { url, server, queue: upstream.queue, release, holder }
}

test('requests whose clients have gone count as waiting while the upstream keeps them', async (context) => {
  const { url, server, queue, release, holder } = await withBusyUpstream(context)
  for (let left = 0; left < queue.maxLength; left++) {
    const leaving = request(`${url}/left`, { agent: false }).on('error', () => {})
    const received = once(server, 'request') as Promise<[IncomingMessage]>
    leaving.end()
    await received
    const forwarded = once(server, 'forwarded')
    leaving.destroy()
    await forwarded
  }
  assert.equal(queue.length, queue.maxLength)
  assert.equal((await fetch(`${url}/one-more`)).status, 503)
  release()
  assert.equal(await holder, 'begun')
  assert.equal((await fetch(`${url}/after`)).status, 200)
  assert.equal(queue.length, 0)
})

test('requests that the upstream fails before they begin wait no longer', async (context) => {
  const { url, queue, holder } = await withBusyUpstream(context)
  const gone = openUpstream('gone', { url, connections: 1 }, { clock: systemClock })
  await gone.pool.destroy()
  const forwarding = await startForwardingServer(context, gone, (raw, response) => {
    forwardRequest(gone, { raw, response, target: '/', headers: [], gatewayHeaders: {} }).catch((problem: Problem) =>
      response.writeHead(problem.status).end(),
    )
  })
  const answer = await fetch(forwarding.url)
  assert.equal(answer.status, 502)
  assert.deepEqual([gone.queue.length, queue.length], [0, 0])
  holder.catch(() => {})
})

test('a request that was answered while it waited gives its connection back at once', async (context) => {
  const { url, server, release, holder } = await withBusyUpstream(context)
  const answered = Promise.withResolvers<void>()
  // As the server does where a body comes too slowly.
  server.on('request', ({ method }, response) => {
    if (method === 'POST') response.once('close', answered.resolve).writeHead(408, { connection: 'close' }).end()
  })
  const slow = request(url, { method: 'POST', agent: false }).on('error', () => {})
  slow.write('begun')
  await answered.promise
  release()
  assert.equal(await holder, 'begun')
  assert.equal((await fetch(`${url}/after`, { signal: AbortSignal.timeout(5_000) })).status, 200)
})
