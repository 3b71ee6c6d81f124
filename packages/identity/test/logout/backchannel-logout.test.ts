import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { clients, getTokens, TestBrowser, users } from '../support/journey.ts'
import { issuer, setup } from '../support/setup.ts'

test('a logout token identifies the ended session and cannot pass for another token type', async () => {
  const received = Promise.withResolvers<string>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.resolve(body)
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const backchannel_logout_uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/logout`
  const [web, ...rest] = clients
  const listening = { ...web, client_id: 'web', backchannel_logout_uri }
  const running = await setup({
    declared: { clients: [listening, ...rest], users },
    features: { loopbackCalls: true },
  })
  const browser = new TestBrowser(running)
  const tokens = await getTokens(running, { browser })
  await browser.get(`/end_session?id_token_hint=${tokens.id_token}`)
  const token = new URLSearchParams(await received.promise).get('logout_token') ?? ''
  const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(running.identity.keys() as never), {
    issuer,
    audience: 'web',
    currentDate: new Date(running.clock.now()),
  })
  assert.equal(protectedHeader.typ, 'logout+jwt')
  assert.deepEqual(payload.events, { 'http://schemas.openid.net/event/backchannel-logout': {} })
  assert.ok(
    payload.sub === 'alice' && payload.sid && payload.jti && payload.iat && payload.exp && !('nonce' in payload),
  )
  await running.close()
  server.close()
})
