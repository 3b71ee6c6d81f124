import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { clients, users } from '../support/journey.ts'
import { type LiveIdentity, Person, startIdentity } from '../support/live.ts'

const callback = 'http://localhost:9/callback'
const secret = 'web-secret-0123456789abc'
const insecure = { execute: [client.allowInsecureRequests] }
const plain = { [oauth.allowInsecureRequests]: true }
let server: LiveIdentity
let keys: CryptoKeyPair
before(async () => {
  keys = await generateKeyPair('ES256')
  const jwks = { keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'k', alg: 'ES256' }] }
  const [web, , tv] = clients
  const service = ['client_credentials' as const]
  server = await startIdentity({
    users,
    clients: [
      { ...web, client_id: 'web', redirect_uris: [callback], post_logout_redirect_uris: ['http://localhost:9/bye'] },
      { ...tv, client_id: 'tv' },
      {
        client_id: 'robot',
        token_endpoint_auth_method: 'private_key_jwt',
        jwks,
        grant_types: service,
        scopes: ['read:users'],
      },
    ],
  })
})
after(() => server.close())

test('openid-client completes code, userinfo, refresh, introspection, revocation and logout', async () => {
  const config = await client.discovery(new URL(server.issuer), 'web', secret, undefined, insecure)
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const [expectedState, expectedNonce] = [client.randomState(), client.randomNonce()]
  const address = client.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope: 'openid profile email offline_access',
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: expectedState,
    nonce: expectedNonce,
  })
  const response = await new Person().authorize(address)
  const checks = { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true }
  const tokens = await client.authorizationCodeGrant(config, response, checks)
  assert.equal(tokens.claims()?.sub, 'alice')
  const claims = await client.fetchUserInfo(config, tokens.access_token, 'alice')
  assert.deepEqual([claims.email, claims.name], ['alice@example.com', 'Alice Adams'])
  const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '')
  assert.notEqual(refreshed.refresh_token, tokens.refresh_token)
  assert.equal((await client.tokenIntrospection(config, refreshed.access_token)).active, true)
  await client.tokenRevocation(config, refreshed.refresh_token ?? '')
  assert.equal((await client.tokenIntrospection(config, refreshed.access_token)).active, false)
  await assert.rejects(client.refreshTokenGrant(config, refreshed.refresh_token ?? ''), { error: 'invalid_grant' })
  const logout = { id_token_hint: tokens.id_token ?? '', post_logout_redirect_uri: 'http://localhost:9/bye' }
  const left = await fetch(client.buildEndSessionUrl(config, logout), { redirect: 'manual' })
  assert.equal(left.headers.get('location'), 'http://localhost:9/bye')
})

test('openid-client pushes its request and reads a form_post response', async () => {
  const config = await client.discovery(
    new URL(server.issuer),
    'web',
    undefined,
    client.ClientSecretBasic(secret),
    insecure,
  )
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const address = await client.buildAuthorizationUrlWithPAR(config, {
    redirect_uri: callback,
    scope: 'openid',
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  })
  const response = await new Person().authorize(address)
  const tokens = await client.authorizationCodeGrant(config, response, { pkceCodeVerifier })
  assert.equal(tokens.claims()?.aud, 'web')
})

test('openid-client connects a device', async () => {
  const config = await client.discovery(new URL(server.issuer), 'tv', undefined, client.None(), insecure)
  const begun = await client.initiateDeviceAuthorization(config, { scope: 'openid offline_access' })
  const page = await new Person().browse(new URL(begun.verification_uri_complete ?? ''))
  assert.match(page.text, /Device connected/)
  const tokens = await client.pollDeviceAuthorizationGrant(config, { ...begun, interval: 0 })
  assert.ok(tokens.access_token && tokens.refresh_token)
})

test('openid-client authenticates with a private key', async () => {
  const proof = client.PrivateKeyJwt({ key: keys.privateKey, kid: 'k' })
  const config = await client.discovery(new URL(server.issuer), 'robot', undefined, proof, insecure)
  const tokens = await client.clientCredentialsGrant(config, { scope: 'read:users' })
  assert.equal(tokens.scope, 'read:users')
})

test('oauth4webapi accepts every response of the code and refresh grants', async () => {
  const issuer = new URL(server.issuer)
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, plain))
  const me: oauth.Client = { client_id: 'web' }
  const auth = oauth.ClientSecretPost(secret)
  const verifier = oauth.generateRandomCodeVerifier()
  const nonce = oauth.generateRandomNonce()
  const address = new URL(as.authorization_endpoint ?? '')
  for (const [name, value] of Object.entries({
    client_id: 'web',
    redirect_uri: callback,
    response_type: 'code',
    scope: 'openid email offline_access',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    nonce,
    max_age: '600',
  })) {
    address.searchParams.set(name, value)
  }
  const response = oauth.validateAuthResponse(as, me, await new Person().authorize(address))
  const tokenResponse = await oauth.authorizationCodeGrantRequest(as, me, auth, response, callback, verifier, plain)
  const expected = { expectedNonce: nonce, maxAge: 600, requireIdToken: true }
  const tokens = await oauth.processAuthorizationCodeResponse(as, me, tokenResponse, expected)
  await oauth.validateApplicationLevelSignature(as, tokenResponse, plain)
  const userinfo = await oauth.userInfoRequest(as, me, tokens.access_token, plain)
  assert.equal((await oauth.processUserInfoResponse(as, me, 'alice', userinfo)).email, 'alice@example.com')
  const again = await oauth.refreshTokenGrantRequest(as, me, auth, tokens.refresh_token ?? '', plain)
  assert.ok((await oauth.processRefreshTokenResponse(as, me, again)).refresh_token)
})

test('oauth4webapi accepts the responses to failed client authentication', async () => {
  const issuer = new URL(server.issuer)
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, plain))
  const me: oauth.Client = { client_id: 'web' }
  const response = await oauth.clientCredentialsGrantRequest(as, me, oauth.ClientSecretBasic('wrong'), {}, plain)
  await assert.rejects(oauth.processClientCredentialsResponse(as, me, response), {
    code: 'OAUTH_WWW_AUTHENTICATE_CHALLENGE',
  })
})
