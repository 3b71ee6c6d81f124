import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { rawRequest, sendRaw } from '../support/raw-http.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

const spoofed = [
  'gatehouse_session=stolen; Path=/',
  '__Host-gatehouse_session=stolen; Path=/; Secure',
  ' GATEHOUSE_session=stolen; Domain=example.com',
  '=gatehouse_browser=stolen',
  '__Secure-gatehouse-console=stolen; Secure',
]

/** An upstream that notes the cookies it gets, and answers with some of its own and some with our names. */
async function cookies(context: TestContext) {
  const seen: (string | undefined)[] = []
  const note = ({ rawHeaders }: IncomingMessage) => {
    const values = rawHeaders.filter((_value, i) => i % 2 === 1 && /^cookie$/i.test(rawHeaders[i - 1] ?? ''))
    seen.push(values.length === 0 ? undefined : values.join(' | '))
  }
  const upstream = await startUpstream(context, (req, res) => {
    note(req)
    res.writeHead(200, { 'set-cookie': [...spoofed, 'own=1', 'x-gatehouse_y=2'] }).end()
  })
  upstream.server.on('upgrade', (req: IncomingMessage, socket: Socket) => {
    note(req)
    const lines = [...spoofed, 'own=1'].map((one) => `set-cookie: ${one}\r\n`).join('')
    socket.end(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n${lines}\r\n`)
  })
  const made = await setup({
    routes: [{ path: '/shop/*', public: true, upstream: 'shop' }],
    upstreams: { shop: { url: upstream.url } },
    siblings: { identity: { url: upstream.url, ownCookies: true } },
    ownRoutes: [{ path: '/login', public: true, upstream: 'identity' }],
  })
  return { seen, url: await listen(context, made) }
}

test('an upstream receives no own cookie, in any spelling of the headers', async (context) => {
  const { seen, url } = await cookies(context)
  const sent: [string[], string | undefined][] = [
    [['Cookie: gatehouse_session=S; cart=1; gatehouse_device=D'], 'cart=1'],
    [['cookie:gatehouse_session=S'], undefined],
    [['COOKIE: cart=1;__Host-gatehouse_session=S;gatehouse_browser=B'], 'cart=1'],
    [['Cookie: GateHouse_Session=S;;  ;\tgatehouse_session = S; cart=1'], ';  ; cart=1'],
    [['Cookie: cart=1', 'Cookie: gatehouse_session=S', 'cookie: other=2; gatehouse_session=S'], 'cart=1 | other=2'],
    [['Cookie: cart="a; gatehouse_session=S; b"'], 'cart="a; b"'],
    [['Cookie: __Host-gatehouse-console=S; __Secure-gatehouse_x=S; __host-GATEHOUSE_x=S'], undefined],
    [['Cookie: gatehouse_session'], undefined],
    [['Cookie: my_gatehouse_session=1; gatehouses=2'], 'my_gatehouse_session=1; gatehouses=2'],
    [['Connection: cookie', 'Cookie: gatehouse_session=S'], undefined],
  ]
  for (const [lines] of sent) await sendRaw(url, rawRequest('/shop/x', lines))
  assert.deepEqual(
    seen,
    sent.map(([, left]) => left),
  )
})

test('an upstream cannot set an own cookie', async (context) => {
  const { url } = await cookies(context)
  const answer = await fetch(`${url}/shop/x`)
  assert.deepEqual(answer.headers.getSetCookie(), ['own=1', 'x-gatehouse_y=2'])
})

test('a WebSocket upgrade neither sends nor sets an own cookie', async (context) => {
  const { seen, url } = await cookies(context)
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(
    'GET /shop/x HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\ncookie: a=1; gatehouse_session=S\r\n\r\n',
  )
  const received: Buffer[] = []
  socket.on('data', (chunk: Buffer) => received.push(chunk))
  await once(socket, 'end')
  const answer = Buffer.concat(received).toString()
  assert.match(answer, /^HTTP\/1\.1 101 /)
  assert.deepEqual(
    [...answer.matchAll(/^set-cookie: (.*)\r$/gm)].map((match) => match[1]),
    ['own=1'],
  )
  assert.deepEqual(seen, ['a=1'])
})

test('a sibling that sets own cookies keeps them', async (context) => {
  const { seen, url } = await cookies(context)
  const answer = await fetch(`${url}/login`, { headers: { cookie: 'gatehouse_session=S' } })
  assert.deepEqual(seen, ['gatehouse_session=S'])
  assert.ok(answer.headers.getSetCookie().includes('gatehouse_session=stolen; Path=/'))
})
