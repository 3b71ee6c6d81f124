import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { type TestContext, test } from 'node:test'
import type { GatewayOptions } from '../../src/index.ts'
import { rawRequest, sendRaw, statuses } from '../support/raw-http.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

/** A gateway before an upstream that answers the headers it got. */
async function startEcho(context: TestContext, options: Partial<GatewayOptions> = {}) {
  const upstream = await startUpstream(context, (req, res) => res.end(JSON.stringify(req.rawHeaders)))
  const made = await setup({
    routes: [
      { path: '/public/*', public: true, upstream: 'app' },
      { path: '/app/*', upstream: 'app' },
    ],
    upstreams: { app: { url: upstream.url } },
    ...options,
  })
  const url = await listen(context, made)
  /** The headers the upstream saw, names in lower case, every value of each. */
  async function seen(target: string, lines: readonly string[]): Promise<Record<string, string[]>> {
    const answer = await sendRaw(url, rawRequest(target, lines))
    assert.deepEqual(statuses(answer), [200], answer)
    return grouped(JSON.parse(answer.slice(answer.indexOf('['), answer.lastIndexOf(']') + 1)))
  }
  return { ...made, url, seen, upstream, token: `Authorization: ${made.bearer().authorization}` }
}

function grouped(rawHeaders: string[]): Record<string, string[]> {
  const headers: Record<string, string[]> = {}
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase()
    headers[name] = [...(headers[name] ?? []), rawHeaders[i + 1] ?? '']
  }
  return headers
}

const ours = (headers: Record<string, string[]>) =>
  Object.keys(headers).filter((name) => name.replaceAll(/[^a-z]/g, '').startsWith('xgatehouse'))

test("CVE-2026-33805: Connection cannot remove the gateway's identity headers", async (context) => {
  const { seen, token } = await startEcho(context)
  const headers = await seen('/app/x', [
    token,
    'Connection: x-gatehouse-user, X-Gatehouse-Context, x-forwarded-for, x-request-id',
  ])
  assert.deepEqual(headers['x-gatehouse-user'], ['u1'])
  assert.equal(headers['x-gatehouse-context']?.length, 1)
  assert.deepEqual(headers['x-forwarded-for'], ['127.0.0.1'])
  assert.equal(headers['x-request-id']?.length, 1)
})

test("the gateway's headers come first, for servers that read only so many", async (context) => {
  const { seen, token } = await startEcho(context)
  const names = Object.keys(await seen('/app/x', [token, 'A: 1', 'X-Custom: 2']))
  const first = Math.min(names.indexOf('a'), names.indexOf('x-custom'))
  for (const name of ['x-gatehouse-user', 'x-gatehouse-context', 'x-forwarded-for', 'x-request-id'])
    assert.ok(names.includes(name) && names.indexOf(name) < first, name)
})

test('headers that Connection nominates are not forwarded', async (context) => {
  const { seen } = await startEcho(context)
  const headers = await seen('/public/x', [
    'Connection: X-Hop',
    'X-Hop: 1',
    'X-End: 2',
    'TE: gzip, trailers;q=0.5',
    'Keep-Alive: 5',
    'Proxy-Connection: x',
  ])
  assert.deepEqual(
    [headers['x-hop'], headers.te, headers['keep-alive'], headers['proxy-connection']],
    [undefined, ['trailers'], undefined, undefined],
  )
  assert.deepEqual(headers['x-end'], ['2'])
})

test('envoy PR 44525: a WebSocket upgrade can neither remove nor add identity headers', async (context) => {
  const { url, token, upstream } = await startEcho(context)
  const { promise, resolve } = Promise.withResolvers<Record<string, string[]>>()
  upstream.server.on('upgrade', (req: IncomingMessage, socket) => {
    resolve(grouped(req.rawHeaders))
    socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n')
  })
  const lines = [token, 'Upgrade: websocket', 'X-Gatehouse-User: admin', 'x_gatehouse_user: admin']
  const request = rawRequest('/app/x', lines).replace('Connection: close', 'Connection: Upgrade, X-Gatehouse-User')
  assert.deepEqual(statuses(await sendRaw(url, request)), [101])
  const headers = await promise
  assert.deepEqual(headers['x-gatehouse-user'], ['u1'])
  assert.equal(headers.x_gatehouse_user, undefined)
})

for (const id of ['CVE-2026-33433', 'CVE-2026-39858', 'GHSA-x677-9fxg-v5c5'])
  test(`${id}: no spelling of a reserved header reaches an upstream`, async (context) => {
    const { seen, token } = await startEcho(context)
    const spellings = [
      'X_Gatehouse_User',
      'x-GATEHOUSE-user',
      'X-Gatehouse_User',
      'x_gatehouse-roles',
      'X.Gatehouse.User',
      'X-Gatehouse-Anything',
    ]
    const headers = await seen('/app/x', [token, ...spellings.map((name) => `${name}: admin`)])
    assert.deepEqual(ours(headers).sort(), [
      'x-gatehouse-client',
      'x-gatehouse-context',
      'x-gatehouse-kind',
      'x-gatehouse-scope',
      'x-gatehouse-user',
    ])
    assert.deepEqual(headers['x-gatehouse-user'], ['u1'])
  })

test('APISIX 14096: reserved and forwarding headers are removed on public routes too', async (context) => {
  const { seen } = await startEcho(context)
  const headers = await seen('/public/x', [
    'X-Gatehouse-User: admin',
    'X_GATEHOUSE_USER: admin',
    'X-Forwarded-For: 1.2.3.4',
    'Forwarded: for=1.2.3.4',
    'X_Forwarded_For: 1.2.3.4',
  ])
  assert.deepEqual(ours(headers), [])
  assert.deepEqual(headers['x-forwarded-for'], ['127.0.0.1'])
  assert.deepEqual([headers.forwarded, headers.x_forwarded_for], [undefined, undefined])
})

test('a local service never sees a reserved header of the caller', async () => {
  const { http } = await setup()
  const headers = { 'x-gatehouse-user': 'admin', x_gatehouse_roles: 'admin', 'x-other': 'stays' }
  const received = (await http.inject({ url: '/open', headers })).json().headers
  assert.deepEqual(
    [received['x-gatehouse-user'], received.x_gatehouse_roles, received['x-other']],
    [undefined, undefined, 'stays'],
  )
})

test('CVE-2026-40575: X-Forwarded-Uri opens no route and reaches no upstream', async (context) => {
  const { url, seen } = await startEcho(context, { trustedProxies: ['127.0.0.1'] })
  const lines = ['X-Forwarded-Uri: /public/x', 'X-Original-URL: /public/x', 'X-Rewrite-URL: /public/x']
  assert.deepEqual(statuses(await sendRaw(url, rawRequest('/app/x', lines))), [401])
  const headers = await seen('/public/x', lines)
  assert.deepEqual(
    [headers['x-forwarded-uri'], headers['x-original-url'], headers['x-rewrite-url']],
    [undefined, undefined, undefined],
  )
})

test('CVE-2026-76835: a path that is public to only one of two readers is refused', async (context) => {
  const { url } = await startEcho(context)
  for (const target of ['/public/../app/x', '/public/%2e%2e/app/x', '/app/x/..;/../../public/x'])
    assert.deepEqual(statuses(await sendRaw(url, rawRequest(target, []))), [400], target)
})

test('CVE-2026-34457: the User-Agent of a health check grants no access', async (context) => {
  const { url } = await startEcho(context)
  for (const agent of ['GoogleHC/1.0', 'kube-probe/1.30', 'ELB-HealthChecker/2.0'])
    assert.deepEqual(statuses(await sendRaw(url, rawRequest('/app/x', [`User-Agent: ${agent}`]))), [401], agent)
})

test('CVE-2026-3635: X-Forwarded-Proto and -Host are trusted from trusted peers only', async (context) => {
  const lines = ['X-Forwarded-Proto: https', 'X-Forwarded-Host: evil.example']
  const stranger = await (await startEcho(context)).seen('/public/x', lines)
  assert.deepEqual([stranger['x-forwarded-proto'], stranger['x-forwarded-host']], [['http'], ['gateway.example']])
  const trusted = await (await startEcho(context, { trustedProxies: ['127.0.0.0/8'] })).seen('/public/x', lines)
  assert.deepEqual([trusted['x-forwarded-proto'], trusted['x-forwarded-host']], [['https'], ['evil.example']])
})

for (const id of ['CVE-2026-90711', 'CVE-2026-92395'])
  test(`${id}: a range of IPv4-mapped addresses wider than IPv4 is rejected`, async () => {
    for (const range of ['::ffff:10.0.0.0/8', '::ffff:0:0/95', '::ffff:a00:0/64'])
      await assert.rejects(setup({ trustedProxies: [range] }), /covers every IPv4 address/, range)
    const { http } = await setup({ trustedProxies: ['::ffff:10.0.0.0/104'], policies: { anonymous: { rpm: 1 } } })
    const ask = async (forwardedFor: string) =>
      (await http.inject({ url: '/open', remoteAddress: '198.51.100.7', headers: { 'x-forwarded-for': forwardedFor } }))
        .statusCode
    assert.deepEqual([await ask('1.1.1.1'), await ask('2.2.2.2')], [200, 429])
  })

test('CVE-2026-30827: IPv4 addresses in IPv6 form are counted apart, not as one network', async () => {
  const { http } = await setup({ policies: { anonymous: { rpm: 1 } } })
  const ask = async (remoteAddress: string) => (await http.inject({ url: '/open', remoteAddress })).statusCode
  assert.deepEqual([await ask('::ffff:192.0.2.1'), await ask('::ffff:198.51.100.2')], [200, 200])
})

test('GHSA-5847-rm3g-23mw: an address has one budget in IPv4 and in IPv4-mapped form', async () => {
  const { http } = await setup({ policies: { anonymous: { rpm: 1 } } })
  const ask = async (remoteAddress: string) => (await http.inject({ url: '/open', remoteAddress })).statusCode
  assert.deepEqual(
    [await ask('192.0.2.1'), await ask('::ffff:192.0.2.1'), await ask('::ffff:c000:201')],
    [200, 429, 429],
  )
})

test('one IPv6 subscriber has one budget, whatever of its /64 it uses', async () => {
  const { http } = await setup({ policies: { anonymous: { rpm: 1 } } })
  const ask = async (remoteAddress: string) => (await http.inject({ url: '/open', remoteAddress })).statusCode
  assert.deepEqual(
    [await ask('2001:db8::1'), await ask('2001:db8::2:3:4:5'), await ask('2001:db8:0:1::1')],
    [200, 429, 200],
  )
})

test('two X-Forwarded-For headers are read as the one list they make', async () => {
  const { http } = await setup({ trustedProxies: ['10.0.0.0/8'], policies: { anonymous: { rpm: 1 } } })
  const ask = async (list: string) =>
    (
      await http.inject({
        url: '/open',
        remoteAddress: '10.0.0.1',
        headers: { 'x-forwarded-for': list, forwarded: 'for=9.9.9.9' },
      })
    ).statusCode
  assert.deepEqual(
    [await ask('6.6.6.6, 192.0.2.1'), await ask('7.7.7.7, 192.0.2.1'), await ask('192.0.2.2')],
    [200, 429, 200],
  )
})
