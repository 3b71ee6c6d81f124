/** ID tokens that carry the claims of the granted scopes, for clients with `id_token_claims`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { authorizeUrl, callback, redirectParameters, TestBrowser, users } from '../support/journey.ts'
import { setupOnce } from '../support/setup.ts'

const device = 'urn:ietf:params:oauth:grant-type:device_code' as const
const secretOf = (client_id: string) => ({ client_id, client_secret: `${client_id}-secret-0123456789` })
const scopes = ['openid', 'profile', 'email', 'phone', 'offline_access']
const application = (client_id: string, more: object = {}) => ({
  ...secretOf(client_id),
  redirect_uris: [callback],
  require_pkce: false,
  scopes,
  id_token_claims: true,
  ...more,
})

const running = setupOnce({
  declared: {
    clients: [
      application('whole'),
      application('plain', { id_token_claims: undefined }),
      application('narrow', { scopes: ['openid', 'email', 'offline_access'] }),
      application('changing', { id_token_claims: false }),
      application('losing'),
      { client_id: 'tv', token_endpoint_auth_method: 'none', grant_types: [device], scopes, id_token_claims: true },
    ],
    users: [...users, { id: 'nameless', password: 'a long and quiet password' }],
  },
})

type Tokens = Readonly<Record<string, string>>

async function getTokens(client_id: string, scope: string, more: Record<string, string> = {}): Promise<Tokens> {
  const browser = new TestBrowser(running)
  const request = authorizeUrl({ client_id, response_type: 'code', scope, prompt: 'consent', ...more })
  const page = await browser.signIn(await browser.get(request))
  const { code = '' } = redirectParameters(await browser.submit(page, { decision: 'allow' }))
  return post({ grant_type: 'authorization_code', code, ...secretOf(client_id) })
}

async function post(form: Record<string, string>): Promise<Tokens> {
  const response = await running.post('/token', form)
  assert.equal(response.status, 200, response.text)
  return response.body as Tokens
}

const refresh = (client_id: string, { refresh_token = '' }: Tokens, more: Record<string, string> = {}) =>
  post({ grant_type: 'refresh_token', refresh_token, ...secretOf(client_id), ...more })

const protocol = new Set(['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'acr', 'amr', 'sid', 'nonce'])

/** The user claims of an ID token. */
const claimsIn = ({ id_token = '' }: Tokens) =>
  Object.fromEntries(Object.entries(decodeJwt(id_token)).filter(([name]) => !protocol.has(name)))

async function userinfo({ access_token }: Tokens): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${access_token}` }
  const { sub: _, ...claims } = (await running.http.inject({ url: '/userinfo', headers })).json()
  return claims
}

test('an ID token with id_token_claims carries the userinfo claims of the granted scopes', async () => {
  for (const scope of ['openid', 'openid email', 'openid profile', 'openid profile email phone']) {
    const tokens = await getTokens('whole', scope)
    assert.deepEqual(claimsIn(tokens), await userinfo(tokens), scope)
    assert.equal('email' in claimsIn(tokens), scope.includes('email'), scope)
  }
})

test('protocol claims are not overwritten by user claims', async () => {
  const { id_token = '' } = await getTokens('whole', 'openid profile email', { nonce: 'n-1' })
  const { iss, sub, aud, nonce } = decodeJwt(id_token)
  assert.deepEqual([iss, sub, aud, nonce], ['http://localhost:8080', 'alice', 'whole', 'n-1'])
})

test('an ID token without id_token_claims carries only claims requested one by one', async () => {
  assert.deepEqual(claimsIn(await getTokens('plain', 'openid profile email')), {})
  const claims = JSON.stringify({ id_token: { email: null } })
  assert.deepEqual(Object.keys(claimsIn(await getTokens('plain', 'openid profile email', { claims }))), ['email'])
})

test('claims requested one by one are added to those of the scopes', async () => {
  const claims = JSON.stringify({ id_token: { phone_number: null } })
  const names = Object.keys(claimsIn(await getTokens('whole', 'openid email', { claims }))).sort()
  assert.deepEqual(names, ['email', 'email_verified', 'phone_number'])
})

test('a scope that was not granted adds no claims', async () => {
  const tokens = await getTokens('narrow', 'openid email')
  assert.deepEqual(Object.keys(claimsIn(tokens)).sort(), ['email', 'email_verified'])
})

test('an ID token from a refresh has the claims of the remaining scopes', async () => {
  const tokens = await getTokens('losing', 'openid profile email offline_access')
  const whole = await refresh('losing', tokens)
  assert.deepEqual(claimsIn(whole), await userinfo(whole))
  const narrowed = await refresh('losing', whole, { scope: 'openid email' })
  assert.deepEqual(Object.keys(claimsIn(narrowed)).sort(), ['email', 'email_verified'])
  await running.identity.management.updateClient('losing', { scopes: ['openid', 'offline_access'] })
  assert.deepEqual(claimsIn(await refresh('losing', narrowed)), {})
})

test('an ID token of a device carries the claims as well', async () => {
  const { body } = await running.post('/device_authorization', { client_id: 'tv', scope: 'openid profile email' })
  const user_code = String(body.user_code)
  const browser = new TestBrowser(running)
  const form = await browser.signIn(await browser.get(`/device?user_code=${user_code}`))
  await browser.submit(await browser.submit(form, { user_code }), { decision: 'allow' })
  const tokens = await post({ grant_type: device, device_code: String(body.device_code), client_id: 'tv' })
  assert.equal(claimsIn(tokens).email, 'alice@example.com')
  assert.deepEqual(claimsIn(tokens), await userinfo(tokens))
})

test('id_token_claims is shown and changed by management', async () => {
  const { management } = running.identity
  const clients = await management.listClients('', 100)
  assert.equal(clients.find(({ client_id }) => client_id === 'changing')?.id_token_claims, false)
  assert.deepEqual(claimsIn(await getTokens('changing', 'openid email')), {})
  assert.equal((await management.updateClient('changing', { id_token_claims: true })).id_token_claims, true)
  assert.equal(claimsIn(await getTokens('changing', 'openid email')).email, 'alice@example.com')
})

test('claims that the user does not have are omitted', async () => {
  const browser = new TestBrowser(running)
  const request = authorizeUrl({ client_id: 'whole', response_type: 'code', scope: 'openid profile email' })
  const page = await browser.signIn(await browser.get(request), 'nameless', 'a long and quiet password')
  const { code = '' } = redirectParameters(await browser.submit(page, { decision: 'allow' }))
  const tokens = await post({ grant_type: 'authorization_code', code, ...secretOf('whole') })
  assert.deepEqual(Object.keys(claimsIn(tokens)).sort(), ['preferred_username', 'updated_at'])
})
