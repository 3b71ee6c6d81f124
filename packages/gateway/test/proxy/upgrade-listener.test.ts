import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { rawRequest, sendRaw, statuses } from '../support/raw-http.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

/** A gateway before an upstream that streams without end at `/orders/live` and answers anything else. */
async function streaming(context: TestContext) {
  const streams = { begun: 0, ended: 0 }
  const upstream = await startUpstream(context, (req, res) => {
    if (req.url !== '/orders/live') return res.end('served')
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write('data: begun\n\n')
    streams.begun++
    res.once('close', () => streams.ended++)
  })
  const routes = [{ path: '/orders/*', public: true, upstream: 'orders' }]
  const made = await setup({ routes, upstreams: { orders: { url: upstream.url } } })
  return { ...made, url: await listen(context, made), streams }
}

const kept = (target: string) => rawRequest(target, []).replace('Connection: close\r\n', '')
const upgrade = rawRequest('/orders/live', ['Upgrade: websocket']).replace('Connection: close', 'Connection: Upgrade')

for (const [what, earlier] of [
  ['to an upstream', kept('/orders/1')],
  ['to nothing', kept('/nothing-here')],
  ['that Node refuses for want of a Host', 'GET /orders/1 HTTP/1.1\r\n\r\n'],
  ['that Node refuses for its expectation', kept('/orders/1').replace('\r\n\r\n', '\r\nExpect: more\r\n\r\n')],
])
  test(`an upgrade behind an unanswered request ${what} ends its connection and no more`, async (context) => {
    const { url } = await streaming(context)
    assert.doesNotMatch(await sendRaw(url, earlier + upgrade).catch(() => ''), /101 Switching/)
    assert.deepEqual(statuses(await sendRaw(url, rawRequest('/orders/2', []))), [200])
  })

test('an upgrade behind two streams ends both at the upstream', { timeout: 10_000 }, async (context) => {
  const { url, streams } = await streaming(context)
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  context.after(() => socket.destroy())
  socket.write(kept('/orders/live').repeat(2))
  await once(socket, 'data')
  while (streams.begun < 2) await setImmediate()
  socket.write(upgrade)
  while (streams.ended < 2) await setImmediate()
})
