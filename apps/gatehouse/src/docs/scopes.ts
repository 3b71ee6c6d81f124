/** What each scope of this API allows, as the API document says it. */
export const scopes = {
  'write:notifications': 'Send and schedule notifications.',
  'write:reserved-mails': 'Send the mails of another service, to addresses that it names.',
  'read:notifications': 'Read what became of notifications, and the in-app feed.',
  'write:preferences': 'Change preferences, devices and the state of feed items.',
  'admin:notifications': 'Manage templates, event types, recipients, suppressions and dead letters.',
  'write:recipients': 'Change how users can be reached.',
  'read:delivery': 'Read notifications, deliveries and dead letters of all users.',
  'read:settings': 'Read templates, event types, preferences and suppressions.',
  'read:events': 'Read the state changes of all deliveries. For clients alone.',
  'admin:privacy': 'Export and erase the data of a user.',
  'admin:clients': 'Manage clients.',
  'read:clients': 'Read clients and API keys, without their secrets.',
  'admin:users': 'Manage accounts, their consents and their sessions.',
  'read:accounts': 'Read accounts, their consents and their sessions.',
  'write:sessions': 'End sessions of users.',
  'write:account-mail': 'Send verification and reset links to users.',
  'read:personal-data': 'Read personal data without masking.',
  'reveal:personal-data': 'Reveal single members of masked personal data, with a reason.',
  'admin:connections': 'Manage other identity providers.',
  'admin:roles': 'Grant and revoke management roles.',
  'admin:organizations': 'Manage organizations, their members, roles, invitations and domains.',
  'read:organizations': 'Read organizations, their members, roles, invitations and domains.',
  'read:organization': 'Read the members, roles, invitations and domains of the organization of the token.',
  'write:organization': 'Change the name and the domains of the organization of the token.',
  'write:members': 'Invite, change and remove members of the organization of the token.',
  'write:member-roles': 'Define the roles of the organization of the token.',
  'admin:api-keys': 'Manage API keys.',
  'admin:keys': 'Rotate signing keys.',
  'read:keys': 'Read which signing keys there are.',
  'admin:audit': 'Read and export the audit trail.',
  'read:audit': 'Read and export the audit trail, with personal data masked.',
  'write:audit': 'Record management changes of other services.',
  'admin:limits': 'Edit tiers, policies and overrides, reset limits and give requests back.',
  'read:limits': 'Read limits.',
  'follow:limits': 'Read tiers, policies and overrides as a gateway, and report which version applies.',
  'write:limit-grants': 'Give requests back.',
  'read:metrics': 'Read metrics.',
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
export function securitySchemes(authUrl: string, issuer?: string) {
  const tokenUrl = `${authUrl}/token`
  if (issuer !== undefined) return { bearer: foreignBearer(issuer), apiKey }
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
    apiKey,
  } as const
}

const apiKey = {
  type: 'apiKey',
  in: 'header',
  name: 'X-API-Key',
  description: 'An API key, with scopes and a plan of its own.',
} as const

/** The tokens of an issuer that is not ours; its metadata tells how they are got. */
function foreignBearer(issuer: string) {
  return {
    type: 'openIdConnect',
    description: 'An access token of the issuer, sent as `Authorization: Bearer` (RFC 6750).',
    openIdConnectUrl: `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
  } as const
}
