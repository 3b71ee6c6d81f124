import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { systemClock } from '@gatehouse/kit'
import { forwardRequest } from '../../src/proxy/forward-request.ts'
import { openUpstream } from '../../src/proxy/upstream.ts'
import { startForwardingServer } from '../support/forwarding-server.ts'
import { rawRequest } from '../support/raw-http.ts'
import { startRawUpstream } from '../support/raw-upstream.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

const upgradeLines = ['Connection: Upgrade', 'Upgrade: websocket']

/** A gateway before an upstream that always answers with these bytes. Returns what a client receives for a request. */
async function answeredWith(
  context: TestContext,
  answer: Buffer,
  gatewayHeaders: Readonly<Record<string, string>> = {},
) {
  const upstream = await startRawUpstream(context, (socket) => socket.end(answer))
  const routes = [{ path: '/*', public: true, upstream: 'app' }]
  const made = await setup({ routes, upstreams: { app: { url: upstream } } })
  made.http.addHook('onRequest', async (_request, reply) => void reply.headers(gatewayHeaders))
  const { hostname, port } = new URL(await listen(context, made))
  return async (lines: readonly string[] = [], method = 'GET') => {
    const request = rawRequest('/x', lines, '', method)
    const socket = connect(Number(port), hostname)
    socket.write(lines.includes('Upgrade: websocket') ? request.replace('Connection: close\r\n', '') : request)
    return (await buffer(socket)).toString('latin1')
  }
}

for (const [what, phrase] of [
  ['in UTF-8', Buffer.from('Niet gevonden – sorry')],
  ['in Latin-1', Buffer.from('Ungültige Eingabe', 'latin1')],
  ['with a control character', Buffer.from('a\x7fb')],
  ['of ASCII', Buffer.from('Gone Fishing')],
] as const)
  test(`a response whose reason phrase is ${what} is forwarded without the phrase`, async (context) => {
    const answer = (status: number) =>
      Buffer.concat([Buffer.from(`HTTP/1.1 ${status} `), phrase, Buffer.from('\r\nContent-Length: 2\r\n\r\nok')])
    const receive = await answeredWith(context, answer(404))
    for (const method of ['GET', 'POST']) assert.match(await receive([], method), /^HTTP\/1\.1 404 Not Found\r\n.*ok$/s)
    assert.match(await receive(upgradeLines), /^HTTP\/1\.1 404 Not Found\r\n.*ok$/s)
    const unassigned = await answeredWith(context, answer(499))
    assert.match(await unassigned(), /^HTTP\/1\.1 499 \r\n/)
    assert.match(await unassigned(upgradeLines), /^HTTP\/1\.1 499 \r\n/)
  })

for (const encoding of ['utf8', 'latin1'] as const)
  test(`bytes of ${encoding} in a header reach the client as they are, after an upgrade too`, async (context) => {
    const line = Buffer.from('x-name: Müller', encoding)
    const expected = line.toString('latin1')
    const rest = Buffer.from('\r\nContent-Length: 2\r\n\r\nok')
    const plain = await answeredWith(context, Buffer.concat([Buffer.from('HTTP/1.1 403 Forbidden\r\n'), line, rest]))
    for (const lines of [[], upgradeLines]) assert.ok((await plain(lines)).includes(`\r\n${expected}\r\n`))
    const switching = Buffer.from('HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n')
    const upgraded = await answeredWith(context, Buffer.concat([switching, line, Buffer.from('\r\n\r\n')]))
    const received = await upgraded(upgradeLines)
    assert.match(received, /^HTTP\/1\.1 101 Switching Protocols\r\n/)
    assert.ok(received.includes(`\r\n${expected}\r\n`))
  })

test('a response of 204 or 101 is forwarded without Content-Length (RFC 9110 §8.6)', async (context) => {
  const empty = await answeredWith(context, Buffer.from('HTTP/1.1 204 x\r\nContent-Length: 0\r\nx-name: a\r\n\r\n'))
  const switching =
    'HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\nx-name: a\r\n\r\n'
  const upgraded = await answeredWith(context, Buffer.from(switching))
  const heads = [await empty(), await empty([], 'HEAD'), await empty(upgradeLines), await upgraded(upgradeLines)]
  for (const head of heads) {
    assert.match(head, /^HTTP\/1\.1 (?:204|101) .*\r\nx-name: a\r\n/s)
    assert.doesNotMatch(head, /content-length/i)
  }
})

test('a response to HEAD, and one of 304, keeps its Content-Length', async (context) => {
  for (const [status, method] of [
    [200, 'HEAD'],
    [304, 'HEAD'],
    [304, 'GET'],
  ] as const) {
    const receive = await answeredWith(context, Buffer.from(`HTTP/1.1 ${status} x\r\nContent-Length: 5\r\n\r\n`))
    assert.match(await receive([], method), /^HTTP\/1\.1 (?:200|304) .*\r\ncontent-length: 5\r\n.*\r\n\r\n$/is)
  }
})

test('Vary names what the upstream and the gateway depend on, after an upgrade too', async (context) => {
  const switching = 'HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
  for (const [head, expected, lines] of [
    ['HTTP/1.1 200 x\r\nContent-Length: 0\r\nVary: accept-encoding', 'accept-encoding, Origin', []],
    ['HTTP/1.1 200 x\r\nContent-Length: 0', 'Origin', []],
    [`${switching}Vary: accept`, 'accept, Origin', upgradeLines],
  ] as const) {
    const receive = await answeredWith(context, Buffer.from(`${head}\r\n\r\n`), { vary: 'Origin' })
    assert.equal(/^vary: (.*)\r$/im.exec(await receive(lines))?.[1], expected)
  }
})

test('a response that cannot be written is an answer: 502, not requested again', async (context) => {
  let reached = 0
  const { url: address } = await startUpstream(context, (_req, res) => {
    reached++
    res.end('ok')
  })
  const upstream = openUpstream('app', { url: address, breaker_failures: 1 }, { clock: systemClock })
  const { url } = await startForwardingServer(context, upstream, (raw, response) => {
    const forwarded = { raw, response, target: '/', headers: [], gatewayHeaders: { 'x-own': 'a\u0001b' } }
    forwardRequest(upstream, forwarded).catch((error) => response.writeHead(error.status ?? 500).end())
  })
  for (let i = 1; i <= 2; i++) {
    assert.equal((await fetch(url)).status, 502)
    assert.equal(reached, i)
  }
  assert.equal(upstream.state().breaker, 'closed')
})
