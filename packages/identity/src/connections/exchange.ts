import { authorizationCodeGrant, type Configuration, fetchUserInfo } from 'openid-client'
import type { Connection } from '../model/connection.ts'
import { type FlowSecrets, maxAuthAgeSeconds, redirectUri } from './authorization.ts'
import { fetchGitHubClaims } from './github.ts'
import { type ProviderClaims, type ProviderProfile, readProfile, UnacceptableProfile } from './profile.ts'
import type { ProviderClients } from './provider-clients.ts'

/** A user whom a provider authenticated, with what a logout there refers to. */
export interface ProviderUser extends ProviderProfile {
  /** The session at the provider. */
  readonly sid?: string
  /** The ID token; undefined for one that is too long to be kept. */
  readonly idToken?: string
  /** When the user signed in there, in Unix milliseconds; undefined for kinds that can't say so. */
  readonly authTime?: number
}

const maxSidLength = 255
const maxIdTokenLength = 4_000

/** A provider's response to an authorization request, and what it must match. */
export interface ProviderResponse {
  readonly parameters: URLSearchParams
  readonly secrets: FlowSecrets
}

/**
 * Exchanges the code of a provider's response and reads who the user is there. State, `iss`, PKCE, nonce and the ID
 * token with its signature are verified.
 * @throws Error whatever is wrong: then nobody is signed in
 */
export async function exchangeCode(
  clients: ProviderClients,
  connection: Connection,
  issuer: string,
  { parameters, secrets }: ProviderResponse,
): Promise<ProviderUser> {
  const configuration = await clients.get(connection)
  const address = new URL(`${redirectUri(issuer, connection.id)}?${parameters}`)
  const { state: expectedState, codeVerifier: pkceCodeVerifier, nonce: expectedNonce } = secrets
  if (connection.settings.kind === 'github') {
    const tokens = await authorizationCodeGrant(configuration, address, { expectedState, pkceCodeVerifier })
    const claims = await fetchGitHubClaims(clients.send, connection, tokens.access_token)
    return readProfile(connection, configuration.serverMetadata().issuer, claims)
  }
  const checks = { expectedState, pkceCodeVerifier, expectedNonce, idTokenExpected: true }
  const tokens = await authorizationCodeGrant(configuration, address, checks)
  const claims = tokens.claims()
  if (claims === undefined) throw new UnacceptableProfile('the response has no ID token')
  if (claims.azp !== undefined && claims.azp !== connection.settings.client_id)
    throw new UnacceptableProfile('azp must be the client id')
  const now = clients.clock.now()
  const authTime = connection.settings.kind === 'oidc' ? readAuthTime(secrets, claims.auth_time, now) : undefined
  const all = await addUserinfo(configuration, connection, claims, tokens.access_token)
  const profile = readProfile(connection, claims.iss, { ...all, ...appleName(connection, parameters) })
  const { sid } = claims
  const { id_token: idToken = '' } = tokens
  return {
    ...profile,
    ...(typeof sid === 'string' && sid !== '' && sid.length <= maxSidLength ? { sid } : {}),
    ...(idToken.length <= maxIdTokenLength ? { idToken } : {}),
    ...(authTime === undefined ? {} : { authTime }),
  }
}

const toleranceSeconds = 30

/**
 * When the user signed in at the provider, in Unix milliseconds and never later than now. Whoever sits at the browser can
 * remove the question from the address: without `auth_time` the sign-in counts as the oldest that is allowed.
 * @throws UnacceptableProfile when a new sign-in was asked for and did not take place
 */
function readAuthTime({ freshSince }: FlowSecrets, claimed: unknown, now: number): number {
  const oldest = now - maxAuthAgeSeconds * 1000
  if (freshSince === undefined) {
    const authTime = typeof claimed === 'number' ? Math.floor(claimed * 1000) : oldest
    return Math.min(now, Math.max(oldest, authTime))
  }
  if (typeof claimed !== 'number' || claimed < freshSince - toleranceSeconds)
    throw new UnacceptableProfile('auth_time must be that of a new sign-in')
  // Whole seconds, and a clock that may be behind: a new sign-in is never older than the question.
  return Math.min(now, (Math.max(Math.floor(claimed), freshSince) + 1) * 1000)
}

/** Claims that the ID token leaves out may be at the userinfo endpoint (OpenID Connect Core §5.4). */
async function addUserinfo(
  configuration: Configuration,
  { settings }: Connection,
  claims: ProviderClaims & { readonly sub: string },
  accessToken: string,
): Promise<ProviderClaims> {
  const { userinfo_endpoint: endpoint } = configuration.serverMetadata()
  if (settings.kind !== 'oidc' || claims.email !== undefined || endpoint === undefined) return claims
  return { ...(await fetchUserInfo(configuration, accessToken, claims.sub)), ...claims }
}

/** The name that Apple posts once, beside the response and unsigned: it is a name and nothing else. */
function appleName({ settings }: Connection, parameters: URLSearchParams): ProviderClaims {
  const text = parameters.get('user')
  if (settings.kind !== 'apple' || text === null) return {}
  try {
    const { firstName, lastName } = JSON.parse(text).name
    const [given_name, family_name] = [firstName, lastName].map((one) => (typeof one === 'string' ? one : ''))
    return { given_name, family_name, name: `${given_name} ${family_name}` }
  } catch {
    return {}
  }
}
