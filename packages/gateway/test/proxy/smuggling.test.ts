import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { type TestContext, test } from 'node:test'
import { rawRequest, sendRaw, statuses } from '../support/raw-http.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

/** A gateway before an upstream that notes every request it sees, bytes of the body with it. */
async function smuggler(context: TestContext) {
  const seen: string[] = []
  const upstream = await startUpstream(context, async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    seen.push(`${req.method} ${req.url} ${Buffer.concat(chunks)}`)
    res.end('served')
  })
  const upgraded: string[] = []
  upstream.server.on('upgrade', (req: IncomingMessage, socket) => {
    upgraded.push(`${req.headers['x-gatehouse-user']}`)
    socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n')
  })
  const made = await setup({
    routes: [
      { path: '/public/*', public: true, upstream: 'app' },
      { path: '/admin/*', upstream: 'app' },
    ],
    upstreams: { app: { url: upstream.url, retries: 0 } },
  })
  return { ...made, seen, upgraded, url: await listen(context, made) }
}

const hidden = 'GET /admin/secret HTTP/1.1\r\nHost: x\r\n\r\n'

test('a request with ambiguous framing is refused and never reaches an upstream', async (context) => {
  const { url, seen } = await smuggler(context)
  const framings: [string, string[], string][] = [
    ['Content-Length and Transfer-Encoding', ['Content-Length: 4', 'Transfer-Encoding: chunked'], `0\r\n\r\n${hidden}`],
    [
      'Transfer-Encoding and Content-Length',
      ['Transfer-Encoding: chunked', `Content-Length: ${hidden.length}`],
      `0\r\n\r\n${hidden}`,
    ],
    ['two lengths', ['Content-Length: 0', `Content-Length: ${hidden.length}`], hidden],
    ['a list of lengths', [`Content-Length: 0, ${hidden.length}`], hidden],
    ['a signed length', [`Content-Length: +${hidden.length}`], hidden],
    ['an unknown coding', ['Transfer-Encoding: xchunked'], `0\r\n\r\n${hidden}`],
    ['chunked that is not last', ['Transfer-Encoding: chunked, identity'], `0\r\n\r\n${hidden}`],
    ['a space before the colon', ['Transfer-Encoding : chunked'], `0\r\n\r\n${hidden}`],
    ['a folded header', ['X-Harmless: a', ' Transfer-Encoding: chunked'], `0\r\n\r\n${hidden}`],
    ['a bare line feed', ['X-Harmless: a\nTransfer-Encoding: chunked'], `0\r\n\r\n${hidden}`],
    ['a chunk size that overflows', ['Transfer-Encoding: chunked'], `FFFFFFFFFFFFFFFFF\r\n${hidden}`],
  ]
  for (const [what, lines, body] of framings) {
    const answer = await sendRaw(url, rawRequest('/public/x', lines, body, 'POST'))
    assert.deepEqual(statuses(answer), [400], what)
    assert.deepEqual(
      seen.filter((request) => request.includes('/admin')),
      [],
      what,
    )
  }
})

test('the bytes after a request are a separate request with its own checks', async (context) => {
  const { url, seen } = await smuggler(context)
  const first = rawRequest('/public/x', ['Content-Length: 2'], 'ok', 'POST').replace('Connection: close\r\n', '')
  const answer = await sendRaw(url, first + rawRequest('/admin/secret', []))
  assert.deepEqual(statuses(answer), [200, 401])
  assert.deepEqual(seen, ['POST /public/x ok'])
})

test('a body without a length is forwarded whole, as one request', async (context) => {
  const { url, seen } = await smuggler(context)
  const chunked = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`
  const answer = await sendRaw(url, rawRequest('/public/x', ['Transfer-Encoding: chunked'], chunked, 'POST'))
  assert.deepEqual(statuses(answer), [200])
  assert.deepEqual(seen, [`POST /public/x ${hidden}`])
})

test('a repeated credential or framing header is refused', async (context) => {
  const { url, bearer, seen } = await smuggler(context)
  const { authorization } = bearer()
  for (const lines of [
    [`Authorization: ${authorization}`, 'Authorization: Bearer other'],
    [`authorization: ${authorization}`, `AUTHORIZATION: ${authorization}`],
    ['X-API-Key: a', 'x-api-key: b'],
    ['Host: evil.example'],
  ])
    assert.deepEqual(statuses(await sendRaw(url, rawRequest('/admin/x', lines))), [400], lines.join())
  assert.deepEqual(seen, [])
})

test('a target that is not a path is refused before an upstream sees it', async (context) => {
  const { url, seen } = await smuggler(context)
  for (const target of [
    '/public/../admin/secret',
    '/public/%2e%2e/admin/secret',
    '/public/..;/admin/secret',
    '/public%2f..%2fadmin/secret',
    '/public/..%5cadmin/secret',
    '/public//admin/secret',
    'http://evil.example/public/x',
  ])
    assert.ok([400, 404].includes(statuses(await sendRaw(url, rawRequest(target, [])))[0] ?? 0), target)
  assert.deepEqual(seen, [])
})

test('an upgrade to anything but WebSocket is not forwarded', async (context) => {
  const { url, seen } = await smuggler(context)
  const lines = ['Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA']
  const request = rawRequest('/public/x', lines).replace(
    'Connection: close',
    'Connection: Upgrade, HTTP2-Settings, close',
  )
  assert.deepEqual(statuses(await sendRaw(url, request)), [200])
  assert.deepEqual(seen, ['GET /public/x '])
})

test('a WebSocket request with a body is forwarded whole, as a request without an upgrade', async (context) => {
  const { url, seen } = await smuggler(context)
  const framings: [string, string][] = [
    ['Content-Length: 2', 'ok'],
    ['Transfer-Encoding: chunked', '2\r\nok\r\n0\r\n\r\n'],
  ]
  for (const [framing, body] of framings) {
    const lines = ['Upgrade: websocket', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', framing]
    const request = rawRequest('/public/x', lines, body).replace('Connection: close', 'Connection: Upgrade, close')
    assert.deepEqual(statuses(await sendRaw(url, request)), [200], framing)
  }
  assert.deepEqual(seen, ['GET /public/x ok', 'GET /public/x ok'])
})

test('headers beyond 16 KiB are refused', async (context) => {
  const { url, seen } = await smuggler(context)
  const answer = await sendRaw(url, rawRequest('/public/x', [`X-Long: ${'a'.repeat(17_000)}`]))
  assert.deepEqual(statuses(answer), [431])
  assert.deepEqual(seen, [])
})

for (const [how, upgrade] of [
  ['as a request', []],
  ['as an upgrade', ['Upgrade: websocket', 'Connection: Upgrade']],
] as const)
  test(`header lines that would displace those of the gateway are refused ${how}`, async (context) => {
    const { url, seen, bearer, upgraded } = await smuggler(context)
    const { authorization } = bearer()
    const padding = Array.from({ length: 980 }, () => 'a:')
    const lines = [`Authorization: ${authorization}`, ...upgrade, ...padding]
    const [head = '', body = ''] = (await sendRaw(url, rawRequest('/admin/x', lines))).split('\r\n\r\n')
    assert.deepEqual(statuses(head), [431])
    assert.match(head, /content-type: application\/problem\+json/i)
    assert.match(body, /more than 200 header lines/)
    assert.deepEqual([seen, upgraded], [[], []])
  })
