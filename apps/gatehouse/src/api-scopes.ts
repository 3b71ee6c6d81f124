/** What each scope of this API allows, as the API document says it. */
export const scopes = {
  'write:notifications': 'Send and schedule notifications.',
  'read:notifications': 'Read what became of notifications, and the in-app feed.',
  'write:preferences': 'Change preferences, devices and the state of feed items.',
  'admin:notifications': 'Manage templates, event types, recipients, suppressions and dead letters.',
  'admin:clients': 'Manage clients.',
  'admin:users': 'Manage accounts, their consents and their sessions.',
  'admin:api-keys': 'Manage API keys.',
  'admin:keys': 'Rotate signing keys.',
  'admin:audit': 'Read and export the audit trail.',
  'admin:limits': 'Read limits, reset them and give requests back.',
  'read:users': 'Read the plan of a user or client.',
  'read:api-keys': 'Resolve an API key to its owner.',
  'read:revocations': 'Read which tokens were revoked.',
} as const

/** The scopes of OpenID Connect Core §5.4 and §11, which a user grants. */
const userScopes = {
  openid: 'Sign in; an ID token is issued.',
  profile: 'Read name and picture.',
  email: 'Read the email address and whether it is verified.',
  phone: 'Read the phone number and whether it is verified.',
  address: 'Read the postal address.',
  offline_access: 'Receive a refresh token.',
} as const

/** The credentials that requests may carry, and the scopes of access tokens. */
export function securitySchemes(authUrl: string) {
  const tokenUrl = `${authUrl}/token`
  return {
    bearer: {
      type: 'oauth2',
      description: 'An access token of this authorization server, sent as `Authorization: Bearer` (RFC 6750).',
      flows: {
        clientCredentials: { tokenUrl, scopes },
        authorizationCode: {
          authorizationUrl: `${authUrl}/authorize`,
          tokenUrl,
          refreshUrl: tokenUrl,
          scopes: { ...userScopes, ...scopes },
        },
      },
    },
    basic: { type: 'http', scheme: 'basic', description: 'The id and secret of a client (RFC 6749 §2.3.1).' },
    apiKey: {
      type: 'apiKey',
      in: 'header',
      name: 'X-API-Key',
      description: 'An API key, with scopes and a plan of its own.',
    },
  } as const
}
