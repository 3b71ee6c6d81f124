import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkRedirectUri, matchesRedirectUri } from '../../src/oauth/redirect-uri.ts'
import { authorizeUrl, pkce, TestBrowser } from '../support/journey.ts'
import { setup } from '../support/setup.ts'

const hosts = ['127.0.0.1', '[::1]', 'localhost']

test('the port of a loopback redirect URI may vary for a public client only', () => {
  for (const host of hosts) {
    for (const [registered, requested] of [
      [`http://${host}/cb`, `http://${host}:51234/cb`],
      [`http://${host}:8080/cb?x=1`, `http://${host}:1/cb?x=1`],
      [`http://${host}:8080/cb`, `http://${host}/cb`],
    ] as const) {
      assert.equal(matchesRedirectUri(registered, requested, true), true, requested)
      assert.equal(matchesRedirectUri(registered, requested, false), false, requested)
    }
  }
})

test('nothing but the port of a loopback redirect URI may vary', () => {
  const registered = 'http://localhost:8080/cb'
  for (const requested of [
    'http://127.0.0.1:8080/cb',
    'http://[::1]:8080/cb',
    'https://localhost:8080/cb',
    'http://localhost:8080/cb/',
    'http://localhost:8080/cb?x=1',
    'http://localhost:8080/cb#x',
    'http://localhost:80@evil.example/cb',
    'http://localhost:8080@evil.example/cb',
    'http://localhost:99999/cb',
    'http://localhost:/cb',
    'http://localhost.:8080/cb',
    'http://localhost.evil.example:8080/cb',
    'http://LOCALHOST:8080/cb',
    'http://localhost:8080/x/../cb',
    'http://localhost:8080\\@evil.example/cb',
  ]) {
    assert.equal(matchesRedirectUri(registered, requested, true), false, requested)
  }
})

test('a redirect URI that is not loopback is compared character by character', () => {
  const registered = 'https://app.example/cb?x=1'
  assert.equal(matchesRedirectUri(registered, registered, true), true)
  for (const requested of [
    'https://app.example/cb',
    `${registered}&y`,
    'https://app.example:443/cb?x=1',
    'com.example:/cb',
  ]) {
    for (const anyPort of [true, false])
      assert.equal(matchesRedirectUri(registered, requested, anyPort), false, requested)
  }
  assert.equal(matchesRedirectUri('https://app.example/cb', 'https://app.example:8443/cb', true), false)
})

test('a scheme that is a reversed domain name is accepted (RFC 8252 section 7.1)', () => {
  for (const uri of ['com.example.app:/callback', 'com.example:/cb', 'com.example.app-2:/oauth?x=1', 'x.y://host/cb']) {
    assert.equal(checkRedirectUri(uri), undefined, uri)
  }
})

test('a scheme without a dot needs the opt-in of its client', () => {
  for (const uri of ['myapp:/callback', 'myapp://callback', 'com:/callback']) {
    assert.match(checkRedirectUri(uri) ?? '', /allow_dotless_redirect_schemes/, uri)
    assert.equal(checkRedirectUri(uri, true), undefined, uri)
  }
})

test('a dangerous scheme is rejected even with the opt-in, in any case', () => {
  for (const scheme of ['javascript', 'JavaScript', 'data', 'file', 'blob', 'vbscript', 'about', 'view-source']) {
    for (const uri of [`${scheme}:/callback`, `${scheme}:alert(1)`, `${scheme}://x/callback`]) {
      for (const dotless of [true, false]) assert.notEqual(checkRedirectUri(uri, dotless), undefined, uri)
    }
  }
  for (const scheme of ['mailto', 'intent', 'ms-msdt', 'chrome-extension', 'filesystem', 'ftp', 'ws', 'urn']) {
    assert.match(checkRedirectUri(`${scheme}:x`, true) ?? '', /must not use the scheme/, scheme)
  }
  assert.match(checkRedirectUri('http://app.example/cb', true) ?? '', /must use https/)
})

test('authorization accepts any localhost port for a public client only', async () => {
  const scopes = ['openid']
  const redirect_uris = ['http://localhost:3000/cb']
  const open = { client_id: 'cli', token_endpoint_auth_method: 'none' as const, redirect_uris, scopes }
  const closed = { client_id: 'web', client_secret: 'web-secret-0123456789abc', redirect_uris, scopes }
  const running = await setup({ declared: { clients: [open, closed] } })
  const ask = async (client_id: string, redirect_uri: string) => {
    const { code_challenge } = pkce()
    const response_type = 'code'
    const url = authorizeUrl({ client_id, redirect_uri, response_type, scope: 'openid', code_challenge })
    return (await new TestBrowser(running).get(url)).status
  }
  assert.equal(await ask('cli', 'http://localhost:49152/cb'), 200)
  assert.equal(await ask('web', 'http://localhost:3000/cb'), 200)
  assert.equal(await ask('web', 'http://localhost:49152/cb'), 400)
  await running.close()
})
