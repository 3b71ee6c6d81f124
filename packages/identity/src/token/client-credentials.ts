import { randomUUID } from 'node:crypto'
import { isUserScope, parseScope, requireAllowedScopes } from '../oauth/scope.ts'
import { type IssueContext, issueAccessToken } from './access-token.ts'
import { chooseClientTarget } from './audience.ts'
import type { Grant } from './grant.ts'

/**
 * The client credentials grant (RFC 6749 §4.4): a token for the client itself. Without a requested scope it has all
 * scopes that the client is registered for, except those about a user.
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
