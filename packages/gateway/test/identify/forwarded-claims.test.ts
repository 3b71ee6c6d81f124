import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHttp, manualClock, Secret, silentLog } from '@gatehouse/kit'
import { createClientAddressLookup, createForwardedClaims } from '../../src/index.ts'

function sibling() {
  const clock = manualClock()
  const claims = createForwardedClaims(new Secret('the-secret-of-the-services'), clock)
  let reported = 0
  const addressOf = createClientAddressLookup({
    trustedProxies: ['10.0.0.0/8'],
    claims,
    onFalseClaim: () => reported++,
  })
  const http = createHttp({ log: silentLog, addressOf })
  for (const method of ['GET', 'POST'] as const) http.route({ method, url: '/ip', handler: async ({ ip }) => ({ ip }) })
  const ask = async (headers: Record<string, string>, url = '/ip', method: 'GET' | 'POST' = 'GET') =>
    (await http.inject({ method, url, remoteAddress: '198.51.100.7', headers })).json().ip
  return { clock, claims, ask, reported: () => reported }
}

test('a service behind our own gateway sees the address that the gateway claims', async () => {
  const { claims, ask, reported } = sibling()
  assert.equal(await ask(claims.headers('GET', '/ip?a=1', '192.0.2.1'), '/ip?a=1'), '192.0.2.1')
  assert.equal(await ask(claims.headers('GET', '/ip', '2001:db8::1')), '2001:db8::1')
  assert.equal(await ask({ 'x-forwarded-for': '6.6.6.6' }), '198.51.100.7')
  assert.equal(reported(), 0)
})

test('a claim by another sender, or for another request or time, is rejected', async () => {
  const { claims, ask, clock, reported } = sibling()
  const stranger = createForwardedClaims(new Secret('another-secret-of-somebody'), clock)
  const good = claims.headers('GET', '/ip', '192.0.2.1')
  const text = good['x-gatehouse-forwarded'] ?? ''
  const named = (value: string) => ({ 'x-gatehouse-forwarded': value })
  for (const headers of [
    stranger.headers('GET', '/ip', '192.0.2.1'),
    claims.headers('POST', '/ip', '192.0.2.1'),
    claims.headers('GET', '/ip?a=1', '192.0.2.1'),
    named(text.replace('192.0.2.1', '192.0.2.2')),
    named(text.replace(/^\d+/, (at) => String(Number(at) + 1))),
    named(text.slice(0, -2)),
    named(`${text}, ${text}`),
    named('192.0.2.1'),
    named(''),
    named('NaN 192.0.2.1 '),
  ])
    assert.equal(await ask(headers), '198.51.100.7', JSON.stringify(headers))
  assert.equal(reported(), 1, 'the false claim is reported once')
  assert.equal(await ask(good), '192.0.2.1')
  clock.advance(60_001)
  assert.equal(await ask(good), '198.51.100.7')
})
