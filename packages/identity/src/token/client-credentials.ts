import { randomUUID } from 'node:crypto'
import { allowedScopes, isUserScope, parseScope } from '../oauth/scope.ts'
import { type IssueParts, issueAccessToken } from './access-token.ts'
import { clientTarget } from './audience.ts'
import type { Grant } from './grant.ts'

/**
 * Client credentials (RFC 6749 §4.4): a token for the client itself. Without a scope asked for it carries all that the
 * client is registered for, save those that are about a user.
 */
export function clientCredentials(parts: IssueParts): Grant {
  return {
    async issue({ client, parameters, receivedAt }) {
      const allowed = client.scopes.filter((scope) => !isUserScope(scope))
      const asked = parseScope(parameters.get('scope'))
      const scopes = asked.length > 0 ? allowedScopes(asked, allowed) : allowed
      const target = clientTarget(parts, client, parameters.all('resource'))
      return issueAccessToken(parts, {
        client,
        subject: client.id,
        scopes,
        target,
        roles: client.roles,
        grantId: randomUUID(),
        issuedAt: receivedAt,
      })
    },
  }
}
