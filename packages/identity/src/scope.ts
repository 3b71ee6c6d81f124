import { OAuthError } from './oauth-error.ts'

/** The scopes of OpenID Connect (Core §5.4, §11): about a user, so never given to a client on its own behalf. */
export const userScopes = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'] as const

const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/**
 * The names in a space-separated scope, each once, in order (RFC 6749 §3.3).
 * @throws OAuthError `invalid_scope` for a character that is not allowed
 */
export function parseScope(scope: string | undefined): string[] {
  const names = [...new Set((scope ?? '').split(' ').filter((name) => name !== ''))]
  if (!names.every((name) => scopeToken.test(name))) throw new OAuthError('invalid_scope', 'the scope is malformed')
  return names
}

export function isUserScope(name: string): boolean {
  return (userScopes as readonly string[]).includes(name)
}

/**
 * What was asked for, if all of it is allowed.
 * @throws OAuthError `invalid_scope` naming what is not
 */
export function allowedScopes(asked: readonly string[], allowed: readonly string[]): string[] {
  const refused = asked.filter((name) => !allowed.includes(name))
  if (refused.length > 0) throw new OAuthError('invalid_scope', `not allowed here: ${refused.slice(0, 10).join(' ')}`)
  return [...asked]
}
