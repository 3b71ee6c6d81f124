import { buildAuthorizationUrl, type Configuration, calculatePKCECodeChallenge } from 'openid-client'
import { type Connection, type ConnectionKind, callbackPath } from '../model/connection.ts'

/** What a flow proves when it returns. */
export interface FlowSecrets {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
  /** Where a new sign-in was asked for: when, in Unix seconds. An older one there does not count. */
  readonly freshSince?: number | undefined
}

/** How old a sign-in at an `oidc` provider may be where no new one is asked for, in seconds. */
export const maxAuthAgeSeconds = 365 * 86_400

const defaultScopes: Readonly<Record<ConnectionKind, string>> = {
  oidc: 'openid profile email',
  google: 'openid profile email',
  microsoft: 'openid profile email',
  apple: 'openid name email',
  github: 'read:user user:email',
}

/** The address that the provider sends the browser back to; from the configuration, never from the request. */
export function redirectUri(issuer: string, connectionId: string): string {
  return `${issuer}${callbackPath(connectionId)}`
}

/** How a user is sent to a provider. */
export interface AuthorizationOptions extends FlowSecrets {
  /** The address that the user entered. */
  readonly loginHint?: string | undefined
}

/** The address of the provider to which the browser is sent. */
export async function authorizationUrl(
  configuration: Configuration,
  { id, settings }: Connection,
  issuer: string,
  { state, nonce, codeVerifier, freshSince, loginHint }: AuthorizationOptions,
): Promise<URL> {
  const { kind, scopes, hosted_domain: hostedDomain } = settings
  return buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri(issuer, id),
    scope: scopes?.join(' ') ?? defaultScopes[kind],
    state,
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...(kind === 'github' ? {} : { nonce }),
    // Apple requires it with the scopes name and email.
    ...(kind === 'apple' ? { response_mode: 'form_post' } : {}),
    ...(hostedDomain === undefined ? {} : { hd: hostedDomain }),
    ...(loginHint === undefined || kind === 'apple' || kind === 'github' ? {} : { login_hint: loginHint }),
    ...(freshSince !== undefined && (kind === 'oidc' || kind === 'microsoft') ? { prompt: 'login' } : {}),
    // The ID token then says when the user signed in (OpenID Connect Core §3.1.2.1).
    ...(kind === 'oidc' ? { max_age: freshSince === undefined ? String(maxAuthAgeSeconds) : '0' } : {}),
  })
}
