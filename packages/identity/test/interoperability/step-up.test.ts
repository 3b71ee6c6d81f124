import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import {
  type AuthenticateOptions,
  BearerError,
  createBearer,
  gatehouseAcrOrder,
  wwwAuthenticate,
} from '@gatehouse/bearer'
import { type ManualClock, manualClock } from '@gatehouse/kit'
import * as client from 'openid-client'
import { acrOf, singleFactorAcr } from '../../src/model/authentication.ts'
import { clients, users } from '../support/journey.ts'
import { type LiveIdentity, Person, startIdentity } from '../support/live.ts'

const callback = 'http://localhost:9/callback'
const secret = 'web-secret-0123456789abc'
const insecure = { execute: [client.allowInsecureRequests] }

/** Identity and a resource server that requires a sign-in, both on one clock that the test moves. */
async function parties(context: TestContext, requirement: AuthenticateOptions) {
  const clock = manualClock(Date.now())
  const grants = ['authorization_code', 'refresh_token', 'client_credentials'] as const
  const web = { ...clients[0], client_id: 'web', redirect_uris: [callback], grant_types: [...grants] }
  const identity = await startIdentity({ users, clients: [web] }, {}, { clock })
  context.after(() => identity.close())
  const api = await startApi(context, identity, { clock, requirement })
  const config = await client.discovery(new URL(identity.issuer), 'web', secret, undefined, insecure)
  return { clock, api, config }
}

async function startApi(
  context: TestContext,
  { issuer }: LiveIdentity,
  { clock, requirement }: { readonly clock: ManualClock; readonly requirement: AuthenticateOptions },
): Promise<URL> {
  const bearer = createBearer({ issuer, audience: issuer, clock })
  const server = createServer(async (request, response) => {
    try {
      response.end((await bearer.authenticate(request.headersDistinct, requirement)).subject)
    } catch (error) {
      if (!(error instanceof BearerError)) return void response.writeHead(500).end(String(error))
      response.writeHead(error.status, { 'www-authenticate': wwwAuthenticate(error, { realm: 'api' }) }).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
}

/** Runs the code flow with these extra parameters, in a browser that may be signed in already. */
async function authorize(config: client.Configuration, person: Person, extra: Record<string, string> = {}) {
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const address = client.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope: 'openid read:users offline_access',
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    ...extra,
  })
  const maxAge = extra.max_age === undefined ? {} : { maxAge: Number(extra.max_age) }
  const checks = { pkceCodeVerifier, idTokenExpected: true, ...maxAge }
  return client.authorizationCodeGrant(config, await person.authorize(address), checks)
}

/** The parameters of the challenge that a request gets; undefined where it is served. */
async function challengeOf(config: client.Configuration, token: string, api: URL) {
  try {
    const response = await client.fetchProtectedResource(config, token, api, 'GET')
    assert.equal(await response.text(), 'alice')
    return undefined
  } catch (error) {
    assert.ok(error instanceof client.WWWAuthenticateChallengeError, String(error))
    return error.cause[0]?.parameters
  }
}

test('openid-client repeats a request with what the challenge names, and the new token passes', async (context) => {
  const { clock, api, config } = await parties(context, { requireAcr: singleFactorAcr, maxAge: 300 })
  const person = new Person()
  const first = await authorize(config, person)
  assert.equal(await challengeOf(config, first.access_token, api), undefined)
  clock.advance(331_000)
  const { error, acr_values, max_age } = (await challengeOf(config, first.access_token, api)) ?? {}
  assert.deepEqual([error, acr_values, max_age], ['insufficient_user_authentication', singleFactorAcr, '300'])
  const again = await authorize(config, person, { acr_values: String(acr_values), max_age: String(max_age) })
  assert.equal(again.claims()?.auth_time, Math.floor(clock.now() / 1000), 'the user signed in again')
  assert.equal(await challengeOf(config, again.access_token, api), undefined)
})

test('neither a refreshed token nor a new one of the old sign-in passes', async (context) => {
  const { clock, api, config } = await parties(context, { maxAge: 300 })
  const person = new Person()
  const first = await authorize(config, person)
  clock.advance(331_000)
  const refreshed = await client.refreshTokenGrant(config, first.refresh_token ?? '')
  const silent = await authorize(config, person)
  for (const token of [refreshed.access_token, silent.access_token])
    assert.equal((await challengeOf(config, token, api))?.error, 'insufficient_user_authentication')
})

test("a client's own token is challenged, since nobody signed in", async (context) => {
  const { api, config } = await parties(context, { maxAge: 300 })
  const own = await client.clientCredentialsGrant(config, { scope: 'read:users' })
  const challenge = await challengeOf(config, own.access_token, api)
  assert.match(String(challenge?.error_description), /signed-in user is required/)
})

test('the classes that @gatehouse/bearer orders are those that tokens carry', () => {
  assert.deepEqual(gatehouseAcrOrder, [
    acrOf(['pwd']),
    acrOf(['pwd', 'otp', 'mfa']),
    acrOf(['swk', 'user', 'mfa']),
    acrOf(['hwk', 'user', 'mfa']),
  ])
})
