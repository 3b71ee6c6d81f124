import type { Parts } from '../context/context.ts'
import { OAuthError } from '../oauth/error.ts'
import { allowedScopes, nothingLeft, parseScope, permittedScopes } from '../oauth/scope.ts'
import type { HeldGrant } from '../store/index.ts'
import { grantTarget, type Target } from './audience.ts'
import type { TokenRequest } from './grant.ts'

/** What tokens under a grant carry now: what was granted, as far as its client and its user may still have it. */
export interface Terms {
  readonly scopes: readonly string[]
  readonly target: Target
}

type TermParts = Pick<Parts, 'issuer' | 'apiIdentifier'>

/** The terms of a grant's first tokens. @throws OAuthError `invalid_grant`, `invalid_target` */
export function termsOf(parts: TermParts, request: TokenRequest, held: HeldGrant): Terms {
  return withTarget(parts, request, held, scopesLeft(request, held))
}

/**
 * The terms of a refresh, whose request may narrow them further (RFC 6749 §6). What the grant never held is refused;
 * what it lost is left out, and the answer tells the scope there is.
 * @throws OAuthError `invalid_grant`, `invalid_scope`, `invalid_target`
 */
export function refreshTerms(parts: TermParts, request: TokenRequest, held: HeldGrant): Terms {
  const left = scopesLeft(request, held)
  if (!left.includes('offline_access')) {
    throw new OAuthError('invalid_grant', 'the client may no longer have offline_access')
  }
  const scope = request.parameters.get('scope')
  if (scope === undefined) return withTarget(parts, request, held, left)
  const requested = allowedScopes(parseScope(scope), held.grant.scopes)
  const scopes = requested.filter((one) => left.includes(one))
  if (nothingLeft(requested, scopes)) throw new OAuthError('invalid_scope', 'none of these may be given any longer')
  return withTarget(parts, request, held, scopes)
}

function scopesLeft({ client }: TokenRequest, { grant, user }: HeldGrant): readonly string[] {
  const left = permittedScopes(grant.scopes, client, user)
  if (nothingLeft(grant.scopes, left)) {
    throw new OAuthError('invalid_grant', 'the client or its user may have nothing of this grant any longer')
  }
  return left
}

function withTarget(
  parts: TermParts,
  { client, parameters }: TokenRequest,
  { grant }: HeldGrant,
  scopes: readonly string[],
): Terms {
  const requested = parameters.all('resource')
  return { scopes, target: grantTarget(parts, { client, scopes, granted: grant.resources, requested }) }
}
