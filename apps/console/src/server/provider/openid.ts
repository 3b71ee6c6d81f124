import type { Clock } from '@gatehouse/kit'
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import { basePath } from '../cookies.ts'
import type { SessionTokens } from '../session/session.ts'
import type { ProviderLogout } from '../session/store.ts'
import type { Provider, ProviderOptions, SignedIn, SignInSecrets } from './provider.ts'
import { consoleScopes } from './scopes.ts'

/** A call to the provider takes no longer, in milliseconds. */
const providerTimeoutMs = 5_000
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

/** What every call to the provider needs. */
interface ProviderCalls {
  readonly server: oauth.AuthorizationServer
  readonly client: oauth.Client
  readonly authentication: oauth.ClientAuth
  readonly redirectUri: string
  readonly clock: Clock
  /** The options of one call. */
  readonly http: () => Pick<oauth.TokenEndpointRequestOptions, 'signal' | typeof oauth.allowInsecureRequests>
}

/** Creates the client of the identity service. Browsers reach it at the issuer, this process at its own address. */
export function createOpenIdProvider(options: ProviderOptions): Omit<Provider, 'endSessionUrl'> {
  const calls = providerCalls(options)
  return {
    readLogoutToken: createLogoutVerifier(options),
    authorizationUrl: (secrets) => pushRequest(calls, secrets),
    exchange: (callback, secrets) => exchangeCode(calls, callback, secrets),
    refresh: (refreshToken) => refreshTokens(calls, refreshToken),
    async revoke(refreshToken) {
      const { server, client, authentication, http } = calls
      await oauth.processRevocationResponse(
        await oauth.revocationRequest(server, client, authentication, refreshToken, http()),
      )
    },
  }
}

function providerCalls({ issuer, client, services, publicUrl, clock }: ProviderOptions): ProviderCalls {
  return {
    server: {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      authorization_response_iss_parameter_supported: true,
      pushed_authorization_request_endpoint: `${services.identity}/par`,
      token_endpoint: `${services.identity}/token`,
      revocation_endpoint: `${services.identity}/revoke`,
    },
    client: {
      client_id: client.id,
      // ID tokens are judged by our clock, as everything else is.
      get [oauth.clockSkew]() {
        return Math.round((clock.now() - Date.now()) / 1000)
      },
    },
    authentication: oauth.ClientSecretBasic(client.secret.reveal()),
    redirectUri: `${publicUrl}${basePath}/callback`,
    clock,
    http: () => ({
      [oauth.allowInsecureRequests]: services.identity.startsWith('http:'),
      signal: AbortSignal.timeout(providerTimeoutMs),
    }),
  }
}

async function pushRequest(
  { server, client, authentication, redirectUri, http }: ProviderCalls,
  secrets: SignInSecrets,
): Promise<string> {
  const parameters = await requestParameters(secrets, redirectUri)
  const { request_uri } = await oauth.processPushedAuthorizationResponse(
    server,
    client,
    await oauth.pushedAuthorizationRequest(server, client, authentication, parameters, http()),
  )
  return `${server.authorization_endpoint}?${new URLSearchParams({ client_id: client.client_id, request_uri })}`
}

async function exchangeCode(
  { server, client, authentication, redirectUri, clock, http }: ProviderCalls,
  callback: URLSearchParams,
  { state, nonce, codeVerifier, maxAge }: SignInSecrets,
): Promise<SignedIn> {
  const code = oauth.validateAuthResponse(server, client, callback, state)
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authentication,
    code,
    redirectUri,
    codeVerifier,
    http(),
  )
  const result = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
    ...(maxAge === undefined ? {} : { maxAge }),
  })
  return signedInOf(result, clock)
}

async function refreshTokens(
  { server, client, authentication, clock, http }: ProviderCalls,
  refreshToken: string,
): Promise<SessionTokens | undefined> {
  const response = await oauth.refreshTokenGrantRequest(server, client, authentication, refreshToken, http())
  try {
    return tokensOf(await oauth.processRefreshTokenResponse(server, client, response), clock)
  } catch (error) {
    if (error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant') return undefined
    throw error
  }
}

async function requestParameters(secrets: SignInSecrets, redirectUri: string): Promise<URLSearchParams> {
  const { state, nonce, codeVerifier, maxAge } = secrets
  return new URLSearchParams({
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: consoleScopes.join(' '),
    state,
    nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...(maxAge === undefined ? {} : { max_age: String(maxAge) }),
  })
}

function tokensOf(result: oauth.TokenEndpointResponse, clock: Clock): SessionTokens {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn = 0 } = result
  if (refreshToken === undefined) throw new Error('the identity service issued no refresh token')
  return { accessToken, refreshToken, expiresAt: clock.now() + expiresIn * 1000 }
}

function signedInOf(result: oauth.TokenEndpointResponse, clock: Clock): SignedIn {
  const claims = oauth.getValidatedIdTokenClaims(result)
  if (typeof claims?.sid !== 'string') throw new Error('the ID token names no session')
  return { tokens: tokensOf(result, clock), userId: claims.sub, providerSessionId: claims.sid }
}

const invalidToken = new Set([
  'ERR_JWT_CLAIM_VALIDATION_FAILED',
  'ERR_JWT_EXPIRED',
  'ERR_JWT_INVALID',
  'ERR_JWS_INVALID',
  'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
  'ERR_JWKS_NO_MATCHING_KEY',
  'ERR_JOSE_NOT_SUPPORTED',
])

function createLogoutVerifier({ issuer, client, services, clock }: ProviderOptions): Provider['readLogoutToken'] {
  const keys = createRemoteJWKSet(new URL(`${services.identity}/.well-known/jwks.json`), {
    timeoutDuration: providerTimeoutMs,
  })
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience: client.id,
        typ: 'logout+jwt',
        requiredClaims: ['iat', 'exp', 'jti', 'events'],
        maxTokenAge: '3 minutes',
        currentDate: new Date(clock.now()),
      })
      return logoutOf(payload)
    } catch (error) {
      if (error instanceof errors.JOSEError && invalidToken.has(error.code)) return undefined
      throw error
    }
  }
}

function logoutOf({ events, nonce, sid, sub }: JWTPayload): ProviderLogout | undefined {
  if (typeof events !== 'object' || events === null || !(logoutEvent in events) || nonce !== undefined) return undefined
  if (typeof sid === 'string') return { providerSessionId: sid }
  return sub === undefined ? undefined : { userId: sub }
}
