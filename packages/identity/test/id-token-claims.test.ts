/** ID tokens that carry the claims of the granted scopes, for clients that say `id_token_claims`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { answerParameters, authorizeUrl, callback, TestBrowser, users } from './journey.ts'
import { served } from './setup.ts'

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

const running = served({
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

async function tokensOf(client_id: string, scope: string, more: Record<string, string> = {}): Promise<Tokens> {
  const browser = new TestBrowser(running)
  const request = authorizeUrl({ client_id, response_type: 'code', scope, prompt: 'consent', ...more })
  const page = await browser.signIn(await browser.get(request))
  const { code = '' } = answerParameters(await browser.submit(page, { decision: 'allow' }))
  return post({ grant_type: 'authorization_code', code, ...secretOf(client_id) })
}

async function post(form: Record<string, string>): Promise<Tokens> {
  const answer = await running.post('/token', form)
  assert.equal(answer.status, 200, answer.text)
  return answer.body as Tokens
}

const refreshed = (client_id: string, { refresh_token = '' }: Tokens, more: Record<string, string> = {}) =>
  post({ grant_type: 'refresh_token', refresh_token, ...secretOf(client_id), ...more })

const protocol = new Set(['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'acr', 'amr', 'sid', 'nonce'])

/** The claims about the user in an ID token. */
const claimsIn = ({ id_token = '' }: Tokens) =>
  Object.fromEntries(Object.entries(decodeJwt(id_token)).filter(([name]) => !protocol.has(name)))

async function userinfo({ access_token }: Tokens): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${access_token}` }
  const { sub: _, ...claims } = (await running.http.inject({ url: '/userinfo', headers })).json()
  return claims
}

test('the ID token of a client that says so carries what userinfo tells of the granted scopes', async () => {
  for (const scope of ['openid', 'openid email', 'openid profile', 'openid profile email phone']) {
    const tokens = await tokensOf('whole', scope)
    assert.deepEqual(claimsIn(tokens), await userinfo(tokens), scope)
    assert.equal('email' in claimsIn(tokens), scope.includes('email'), scope)
  }
})

test('the claims that the protocol itself sets stay what they are', async () => {
  const { id_token = '' } = await tokensOf('whole', 'openid profile email', { nonce: 'n-1' })
  const { iss, sub, aud, nonce } = decodeJwt(id_token)
  assert.deepEqual([iss, sub, aud, nonce], ['http://localhost:8080', 'alice', 'whole', 'n-1'])
})

test('the ID token of any other client carries none, unless they are asked for one by one', async () => {
  assert.deepEqual(claimsIn(await tokensOf('plain', 'openid profile email')), {})
  const claims = JSON.stringify({ id_token: { email: null } })
  assert.deepEqual(Object.keys(claimsIn(await tokensOf('plain', 'openid profile email', { claims }))), ['email'])
})

test('claims asked for one by one come along with those of the scopes', async () => {
  const claims = JSON.stringify({ id_token: { phone_number: null } })
  const names = Object.keys(claimsIn(await tokensOf('whole', 'openid email', { claims }))).sort()
  assert.deepEqual(names, ['email', 'email_verified', 'phone_number'])
})

test('a scope that the user did not allow brings no claims', async () => {
  const tokens = await tokensOf('narrow', 'openid email')
  assert.deepEqual(Object.keys(claimsIn(tokens)).sort(), ['email', 'email_verified'])
})

test('an ID token of a refresh has the claims of the scopes that are left', async () => {
  const tokens = await tokensOf('losing', 'openid profile email offline_access')
  const whole = await refreshed('losing', tokens)
  assert.deepEqual(claimsIn(whole), await userinfo(whole))
  const narrowed = await refreshed('losing', whole, { scope: 'openid email' })
  assert.deepEqual(Object.keys(claimsIn(narrowed)).sort(), ['email', 'email_verified'])
  await running.identity.management.updateClient('losing', { scopes: ['openid', 'offline_access'] })
  assert.deepEqual(claimsIn(await refreshed('losing', narrowed)), {})
})

test('an ID token of a device has them too', async () => {
  const { body } = await running.post('/device_authorization', { client_id: 'tv', scope: 'openid profile email' })
  const user_code = String(body.user_code)
  const browser = new TestBrowser(running)
  const form = await browser.signIn(await browser.get(`/device?user_code=${user_code}`))
  await browser.submit(await browser.submit(form, { user_code }), { decision: 'allow' })
  const tokens = await post({ grant_type: device, device_code: String(body.device_code), client_id: 'tv' })
  assert.equal(claimsIn(tokens).email, 'alice@example.com')
  assert.deepEqual(claimsIn(tokens), await userinfo(tokens))
})

test('management turns them on and off, and a client says which it is', async () => {
  const { management } = running.identity
  const clients = await management.listClients('', 100)
  assert.equal(clients.find(({ client_id }) => client_id === 'changing')?.id_token_claims, false)
  assert.deepEqual(claimsIn(await tokensOf('changing', 'openid email')), {})
  assert.equal((await management.updateClient('changing', { id_token_claims: true })).id_token_claims, true)
  assert.equal(claimsIn(await tokensOf('changing', 'openid email')).email, 'alice@example.com')
})

test('a user without an address or a name leaves those out', async () => {
  const browser = new TestBrowser(running)
  const request = authorizeUrl({ client_id: 'whole', response_type: 'code', scope: 'openid profile email' })
  const page = await browser.signIn(await browser.get(request), 'nameless', 'a long and quiet password')
  const { code = '' } = answerParameters(await browser.submit(page, { decision: 'allow' }))
  const tokens = await post({ grant_type: 'authorization_code', code, ...secretOf('whole') })
  assert.deepEqual(Object.keys(claimsIn(tokens)).sort(), ['preferred_username', 'updated_at'])
})
