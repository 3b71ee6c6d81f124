import { type KeyObject, randomUUID, sign } from 'node:crypto'
import type { Seen } from '../server/http-server.ts'
import type { ClientCredentials } from './client-authentication.ts'

/** The logouts of a provider. */
export interface Logouts {
  /** The ID tokens that were issued: the only hints. */
  readonly idTokens: Set<string>
  readonly requests: URLSearchParams[]
}

/** The client that is registered at a provider, and where it is sent after a logout. */
interface LogoutClient {
  readonly client: Pick<ClientCredentials, 'id'>
  readonly postLogoutRedirectUris?: readonly string[]
}

/**
 * The end session endpoint (OpenID Connect RP-Initiated Logout §2): strict about the hint and the registered address, and
 * without a page of its own.
 */
export function endSession(
  { client, postLogoutRedirectUris = [] }: LogoutClient,
  { idTokens, requests }: Logouts,
  query: URLSearchParams,
): Seen<never> {
  const refused = (why: string): Seen<never> => ({
    kind: 'refused',
    why,
    answer: { status: 400, body: { error: why } },
  })
  const redirectUri = query.get('post_logout_redirect_uri') ?? ''
  const hint = query.get('id_token_hint')
  if (hint !== null && !idTokens.has(hint)) return refused('id_token_hint is unknown')
  if (query.get('client_id') !== client.id) return refused('client_id is unknown')
  if (!postLogoutRedirectUris.includes(redirectUri)) return refused('post_logout_redirect_uri is not registered')
  if ((query.get('state') ?? '').length < 22) return refused('state is too short')
  requests.push(query)
  const location = `${redirectUri}?${new URLSearchParams({ state: query.get('state') ?? '' })}`
  return { kind: 'aside', answer: { status: 302, headers: { location } } }
}

/** What is different about a logout token; undefined removes a claim. */
export interface LogoutFacts {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
  /** Signs with a key that the provider does not publish. */
  readonly wrongKey?: boolean
}

interface LogoutIssuer {
  readonly issuer: string
  readonly audience: string
  readonly user: Readonly<Record<string, unknown>>
  readonly privateKey: KeyObject
  readonly other: KeyObject
}

/** A logout token (OpenID Connect Back-Channel Logout §2.4). */
export function createLogoutToken(
  { issuer, audience, user: { sub, sid }, privateKey, other }: LogoutIssuer,
  { claims = {}, header = {}, wrongKey = false }: LogoutFacts,
): string {
  const now = Math.floor(Date.now() / 1000)
  const payload = {
    iss: issuer,
    aud: audience,
    iat: now,
    exp: now + 120,
    jti: randomUUID(),
    sub,
    sid,
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    ...claims,
  }
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const signed = `${encode({ typ: 'logout+jwt', alg: 'RS256', kid: 'k1', ...header })}.${encode(payload)}`
  return `${signed}.${sign('sha256', Buffer.from(signed), wrongKey ? other : privateKey).toString('base64url')}`
}
