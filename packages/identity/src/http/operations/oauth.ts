import type { Purposes } from '@gatehouse/kit'

/** The operations of the OAuth endpoints, the public documents, and the calls of other services. */
export const oauthOperations = {
  'tokens.issue': [
    'Issue tokens',
    "The token endpoint (RFC 6749 §3.2): exchanges an authorization code, a refresh token or a device code, or the client's own credentials, for tokens.",
  ],
  'tokens.revoke': [
    'Revoke a token and its grant',
    'Token revocation (RFC 7009). The response is the same for an unknown token.',
  ],
  'tokens.introspect': [
    'Introspect a token',
    'Token introspection (RFC 7662). The response is `{active: false}` for a token that is expired, revoked or meant for another audience.',
  ],
  'deviceAuthorizations.create': [
    'Request device authorization',
    'Issues a device code and a user code, which the user enters in a browser (RFC 8628).',
  ],
  'providerLogouts.create': [
    'End sessions that ended at a provider',
    'Takes the logout token of another identity provider (OpenID Connect Back-Channel Logout).',
  ],
  'pushedRequests.create': [
    'Push an authorization request',
    'Stores the parameters of an authorization request and returns a `request_uri` for `/authorize` (RFC 9126).',
  ],
  'userinfo.get': [
    'Get claims about the user',
    'The claims that the scopes of the access token cover (OpenID Connect Core §5.3).',
  ],
  'userinfo.post': [
    'Get claims about the user by POST',
    'As `GET /userinfo`; OpenID Connect Core §5.3.1 requires both methods.',
  ],
  'openidConfiguration.get': [
    'Get the OpenID configuration',
    'OpenID Connect Discovery 1.0 §4: endpoints, grants, algorithms and claims.',
  ],
  'serverMetadata.get': ['Get the authorization server metadata', 'RFC 8414: endpoints, grants and algorithms.'],
  'jwks.get': ['Get the public signing keys', 'The keys that verify tokens, as a JSON Web Key Set (RFC 7517).'],
  'users.getPlan': [
    'Get the plan of a user',
    'The user object for the tier lookup of a gateway. Users read their own.',
  ],
  'revocations.read': [
    'List revocations after a cursor',
    'The revocations in order, for resource servers that verify tokens themselves. Without a cursor, from the oldest that is kept.',
  ],
  'auditEvents.record': [
    'Record a change of another service',
    'For services in other processes, which record their management changes here.',
  ],
} as const satisfies Purposes
