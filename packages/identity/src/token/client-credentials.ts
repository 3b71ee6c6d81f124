import { randomUUID } from 'node:crypto'
import { isUserScope, parseScope, requireAllowedScopes } from '../oauth/scope.ts'
import { type IssueContext, issueAccessToken } from './access-token.ts'
import { chooseClientTarget } from './audience.ts'
import type { Grant } from './grant.ts'

/**
 * Client credentials (RFC 6749 §4.4): a token for the client itself. Without a scope asked for it carries all that the
 * client is registered for, save those that are about a user.
 */
export function clientCredentialsGrant(context: IssueContext): Grant {
  return {
    async issue({ client, parameters, receivedAt }) {
      const allowed = client.scopes.filter((scope) => !isUserScope(scope))
      const requested = parseScope(parameters.get('scope'))
      const scopes = requested.length > 0 ? requireAllowedScopes(requested, allowed) : allowed
      const target = chooseClientTarget(context, client, parameters.getAll('resource'))
      return issueAccessToken(context, {
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
