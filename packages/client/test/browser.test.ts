import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { findProgram, testWith } from '@gatehouse/testing'
import { chromium } from 'playwright-core'
import { bundleOf } from './support/bundle.ts'

/** What the page does: a call that is repeated, a list, a stream, a webhook, and an error. */
const script = `
import { bearer, createGatehouse, isGatehouseError, signWebhook, verifyWebhook } from '/client.js'
const gatehouse = createGatehouse({ baseUrl: '/', credentials: bearer((renew) => (renew ? 'new' : 'old')) })
const found = {}
found.sent = await gatehouse.notify({ event: 'e', user_id: 'alice', data: {} })
found.items = await gatehouse.eventTypes.list().take(3)
for await (const { id, data } of gatehouse.users.inbox.stream({ id: 'alice' })) {
  found.event = [id, data]
  break
}
const secrets = ['whsec_' + btoa('a secret of 24 bytes, ok')]
found.webhook = (await verifyWebhook('{"a":1}', await signWebhook('{"a":1}', { secrets }), { secrets })).message
found.missing = await gatehouse.notifications.get({ id: 'x' }).catch((error) => isGatehouseError(error, 'not_found'))
document.title = JSON.stringify(found)
`

/** The API of the page, at its own origin. */
function startApi() {
  const requests: string[] = []
  const server = createServer(async (request, response) => {
    const { url = '', method, headers } = request
    const answer = (status: number, type: string, body: string, more = {}) =>
      response.writeHead(status, { 'content-type': type, ...more }).end(body)
    const json = (value: unknown) => answer(200, 'application/json', JSON.stringify(value))
    if (url === '/') return answer(200, 'text/html', '<!doctype html><script type="module" src="/page.js"></script>')
    if (url === '/page.js') return answer(200, 'text/javascript', script)
    if (url === '/client.js') return answer(200, 'text/javascript', await bundleOf("export * from './index.ts'"))
    if (url === '/favicon.ico') return answer(204, 'text/plain', '')
    requests.push(`${method} ${url} ${headers.authorization}`)
    if (headers.authorization === 'Bearer old' && url === '/v1/notify')
      return answer(401, 'application/problem+json', '{}', { 'www-authenticate': 'Bearer error="invalid_token"' })
    if (url === '/v1/notify') return answer(202, 'application/json', '{"id":"n1","deliveries":[]}')
    if (url === '/v1/event-types') return json({ items: [{ event: 'a' }, { event: 'b' }], next: '2' })
    if (url === '/v1/event-types?cursor=2') return json({ items: [{ event: 'c' }, { event: 'd' }] })
    if (url.endsWith('/inbox/stream')) return answer(200, 'text/event-stream', 'id: 7\ndata: {"counts":1}\n\n')
    return answer(404, 'application/problem+json', '{"status":404}')
  })
  return { server, requests }
}

testWith('chromium', 'the client runs in a page: calls, renewal, lists, streams, webhooks and errors', async () => {
  const { server, requests } = startApi()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const browser = await chromium.launch({ executablePath: findProgram('chromium') ?? '', args: ['--no-sandbox'] })
  try {
    const page = await browser.newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    await page.waitForFunction("document.title !== ''").catch(() => assert.deepEqual(faults, [], 'the page failed'))
    assert.deepEqual(JSON.parse(await page.title()), {
      sent: { id: 'n1', deliveries: [] },
      items: [{ event: 'a' }, { event: 'b' }, { event: 'c' }],
      event: ['7', { counts: 1 }],
      webhook: { a: 1 },
      missing: true,
    })
    assert.deepEqual(requests.slice(0, 2), ['POST /v1/notify Bearer old', 'POST /v1/notify Bearer new'])
  } finally {
    await browser.close()
    server.closeAllConnections()
    server.close()
  }
})
