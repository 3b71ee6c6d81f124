import type { OAuthClient } from '@gatehouse/client'

const userScopes: ReadonlySet<string> = new Set(['openid', 'profile', 'email', 'address', 'phone', 'offline_access'])

/** Whether a scope is about a user, so that no client has it by itself. */
export function isUserScope(scope: string): boolean {
  return userScopes.has(scope)
}

/**
 * An authorization request of a client, to try its sign-in. The verifier of its challenge is not kept, so that nobody can
 * redeem the code. Undefined where the client must push its requests.
 */
export async function signInLink(issuer: string, client: OAuthClient): Promise<string | undefined> {
  const [redirectUri] = client.redirect_uris ?? []
  if (redirectUri === undefined || client.require_pushed_authorization_requests === true) return undefined
  const verifier = crypto.getRandomValues(new Uint8Array(32))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(base64url(verifier))))
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUri,
    scope: (client.scopes ?? []).filter(isUserScope).join(' '),
    state: 'test-from-console',
    code_challenge: base64url(digest),
    code_challenge_method: 'S256',
  })
  return `${issuer}/authorize?${query}`
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}
