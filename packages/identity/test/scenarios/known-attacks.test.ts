import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { test } from 'node:test'
import { decodeJwt, SignJWT } from 'jose'
import { authorizeUrl, clients, getTokens, pkce, TestBrowser, users, webSecret } from '../support/journey.ts'
import { service, setupOnce } from '../support/setup.ts'

const odd = { client_id: 'odd', client_secret: 'p:ss w%rd+ 0123456789', scopes: ['read:users'] }
const running = setupOnce({ declared: { clients: [...clients, service, odd], users } })

const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` })

test('a request with two client ids or two authentication methods is rejected', async () => {
  const asService = basic(`service:${service.client_secret}`)
  const mixed = await running.post('/token', { grant_type: 'client_credentials', client_id: 'odd' }, asService)
  assert.equal(mixed.body.error, 'invalid_request')
  const same = await running.post('/token', { grant_type: 'client_credentials', client_id: 'service' }, asService)
  assert.equal(same.status, 200)
  const both = {
    grant_type: 'client_credentials',
    client_id: 'service',
    client_secret: service.client_secret,
    client_assertion: 'x',
  }
  assert.equal((await running.post('/token', both)).body.error, 'invalid_request')
})

test('HTTP Basic credentials are form-decoded, and malformed ones are rejected', async () => {
  const form = { grant_type: 'client_credentials' }
  const encode = (text: string) => encodeURIComponent(text).replaceAll('%20', '+')
  const right = await running.post('/token', form, basic(`odd:${encode(odd.client_secret)}`))
  assert.equal(right.status, 200, right.text)
  for (const pair of ['odd', ':', 'odd:%zz', `odd:${odd.client_secret}`, '']) {
    assert.equal((await running.post('/token', form, basic(pair))).status, 401, pair)
  }
  assert.equal((await running.post('/token', form, { authorization: 'Basic ***' })).status, 401)
})

test('forged access tokens are rejected: alg none, HMAC with a public key, wrong key or type', async () => {
  const tokens = await getTokens(running)
  const access = tokens.access_token ?? ''
  const claims = decodeJwt(access)
  const jwk = running.identity.keys().keys.find((key) => key.alg === 'ES256')
  assert.ok(jwk)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const pem = createPublicKey({ key: jwk as never, format: 'jwk' }).export({ format: 'pem', type: 'spki' })
  const header = { typ: 'at+jwt', kid: jwk.kid }
  const forged = [
    `${part({ ...header, alg: 'none' })}.${part(claims)}.`,
    await new SignJWT(claims).setProtectedHeader({ ...header, alg: 'HS256' }).sign(Buffer.from(pem)),
    await new SignJWT(claims).setProtectedHeader({ ...header, alg: 'HS256' }).sign(Buffer.from(JSON.stringify(jwk))),
    `${access.slice(0, -6)}AAAAAA`,
    `${part({ ...header, alg: 'ES256', crit: ['x'], x: 1 })}.${access.split('.').slice(1).join('.')}`,
    `${access}${'.'.repeat(9_000)}`,
    tokens.id_token ?? '',
  ]
  for (const token of forged) {
    const userinfo = await running.http.inject({ url: '/userinfo', headers: { authorization: `Bearer ${token}` } })
    assert.equal(userinfo.statusCode, 401, token.slice(0, 60))
    assert.deepEqual((await running.post('/introspect', { token, ...webSecret })).body, { active: false })
  }
})

test('a value sealed for one purpose is rejected for every other', async () => {
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'))
  const device = browser.cookies.get('gatehouse_device') ?? ''
  assert.equal((await browser.get(`/authorize/continue?continuation=${device}`)).status, 400)
  assert.equal((await browser.get(`/email/verify?token=${device}`)).status, 400)
})

test('request bodies, parameters and headers are limited in size', async () => {
  const large = await running.post('/token', { grant_type: 'x'.repeat(100_000) })
  assert.deepEqual([large.status, large.body.error], [400, 'invalid_request'])
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`p${n}`, 'x']))
  assert.equal((await running.post('/token', many)).body.error, 'invalid_request')
})

test('secrets are never stored in plain text', async () => {
  const browser = new TestBrowser(running)
  const tokens = await getTokens(running, { browser })
  await running.post('/device_authorization', { client_id: 'tv' })
  const secrets = [
    tokens.refresh_token,
    browser.cookies.get('gatehouse_session'),
    'correct horse',
    ...[service, odd].map((one) => one.client_secret),
  ]
  const tables = [
    'session',
    'refresh_family',
    'authorization_code',
    'device_code',
    'account',
    'client',
    'audit_event',
    'outbox',
    'declared',
  ]
  for (const table of tables) {
    const { rows } = await running.database.query(`SELECT * FROM identity.${table}`)
    const text = JSON.stringify(rows)
    for (const secret of secrets) assert.ok(secret && !text.includes(secret), table)
  }
})

test('every authorization response names its issuer, errors included', async () => {
  const metadata = (await running.http.inject('/.well-known/openid-configuration')).json()
  assert.equal(metadata.authorization_response_iss_parameter_supported, true)
  assert.deepEqual(metadata.code_challenge_methods_supported, ['S256'])
  const url = authorizeUrl({ client_id: 'web', response_type: 'token', ...pkce() })
  const response = await running.http.inject(url)
  assert.equal(new URL(String(response.headers.location)).searchParams.get('iss'), metadata.issuer)
})
