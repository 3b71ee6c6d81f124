import { type Static, Type } from 'typebox'
import {
  assertionAudiences,
  authMethods,
  grantTypes,
  organizationUses,
  type SigningAlgorithm,
  signingAlgorithms,
} from '../model/client.ts'
import { mfaPolicies } from '../model/factors/second-factor.ts'

const oneOf = <const Values extends readonly string[]>(values: Values, description: string) =>
  Type.Unsafe<Values[number]>({ type: 'string', enum: [...values], description })

const texts = (description: string, examples: readonly string[]) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), { description, examples: [[...examples]], maxItems: 200 })

const id = (what: string, example: string) =>
  Type.String({
    pattern: '^(?!\\.{1,2}$)[A-Za-z0-9._~:@-]{1,128}$',
    description: `${what} 1 to 128 letters, digits and . _ ~ : @ -`,
    examples: [example],
  })

const name = (what: string, example: string) =>
  Type.String({ minLength: 1, maxLength: 200, description: what, examples: [example] })

const uri = (what: string) => Type.String({ minLength: 1, maxLength: 2048, description: what })

const signedWith = (description: string) =>
  Type.Unsafe<SigningAlgorithm>({ type: 'string', enum: [...signingAlgorithms], description })

const policyOfClient =
  'The tier or policy that counts all requests of the client, its own and those for users, in place of their tiers.'

const clientMembers = {
  client_name: Type.Optional(name('Shown on the consent page. Default: the client id.', 'Photo Print')),
  token_endpoint_auth_method: Type.Optional(
    oneOf(
      authMethods,
      'How the client authenticates; none makes it public. Default: a client secret, by HTTP Basic or in the form.',
    ),
  ),
  jwks: Type.Optional(
    Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown()), { minItems: 1, maxItems: 20 }) }),
  ),
  jwks_uri: Type.Optional(uri('The https URL of the public keys for private_key_jwt.')),
  assertion_audience: Type.Optional(
    oneOf(
      assertionAudiences,
      'The audience of its private_key_jwt assertions: the issuer (RFC 10070), or the endpoint for libraries that require it. Default: issuer.',
    ),
  ),
  grant_types: Type.Optional(
    Type.Array(oneOf(grantTypes, 'A grant type.'), {
      description:
        'The grant types that the client may use. Default: authorization_code and refresh_token with redirect_uris, else client_credentials.',
      maxItems: 10,
    }),
  ),
  redirect_uris: Type.Optional(
    texts(
      'The redirect URIs, compared character by character. For a public client the port of http://127.0.0.1, http://[::1] and http://localhost may vary (RFC 8252 §7.3).',
      ['https://app.example.com/callback'],
    ),
  ),
  allow_dotless_redirect_schemes: Type.Optional(
    Type.Boolean({
      description:
        'Allows redirect_uris with a private-use scheme without a dot, such as myapp:/callback, which any other application may register too (RFC 8252 §7.1). Default: false.',
    }),
  ),
  post_logout_redirect_uris: Type.Optional(
    texts('The URIs to which a logout may redirect.', ['https://app.example.com/']),
  ),
  scopes: Type.Optional(
    texts(
      'The scopes that the client may request. Default: those of OpenID Connect for a client with redirect_uris, else none.',
      ['openid', 'profile', 'read:users'],
    ),
  ),
  resources: Type.Optional(
    texts('The resources for which it may request tokens, in addition to the default API.', [
      'https://api.example.com',
    ]),
  ),
  roles: Type.Optional(texts('The roles claim of tokens that the client obtains for itself.', ['reporter'])),
  plan: Type.Optional(name('The tier that limits the client.', 'pro')),
  policy: Type.Optional(name(policyOfClient, 'partners')),
  require_pkce: Type.Optional(
    Type.Boolean({ description: 'False allows a confidential client that does not support PKCE. Default: true.' }),
  ),
  require_pushed_authorization_requests: Type.Optional(
    Type.Boolean({
      description: 'Whether the client must push its authorization requests (RFC 9126). Default: false.',
    }),
  ),
  organizations: Type.Optional(
    oneOf(
      organizationUses,
      'Whether its tokens are for an organization: none ignores memberships, required admits members of an organization only. Default: optional, for users who are members of one.',
    ),
  ),
  skip_consent: Type.Optional(
    Type.Boolean({
      description:
        "Grants access without a consent page, for the operator's own confidential web applications. Default: false.",
    }),
  ),
  first_party: Type.Optional(
    Type.Boolean({
      description:
        "Grants access without a consent page to the operator's own public application, where redirect_uri is https: a web page or an app-claimed link. Other redirect URIs ask as before. Default: false.",
    }),
  ),
  publisher: Type.Optional(
    name('Who publishes the client, verified by the operator; shown on the consent page.', 'Photo Print Ltd'),
  ),
  may_introspect: Type.Optional(
    Type.Boolean({
      description: 'Whether the client may introspect tokens of other clients (RFC 7662). Default: false.',
    }),
  ),
  mfa: Type.Optional(
    oneOf(
      mfaPolicies,
      'Whether its users must sign in with a second factor. The strictest of this and the setting of the instance counts.',
    ),
  ),
  access_token_format: Type.Optional(oneOf(['jwt', 'opaque'], 'The format of its access tokens. Default: jwt.')),
  access_token_signed_response_alg: Type.Optional(
    signedWith('The algorithm of its access tokens, unless the resource sets one. Default: that of the server, ES256.'),
  ),
  id_token_signed_response_alg: Type.Optional(signedWith('The algorithm of its ID tokens. Default: RS256.')),
  id_token_claims: Type.Optional(
    Type.Boolean({
      description:
        'Whether its ID tokens carry the claims of the granted scopes (profile, email …), as userinfo does. Default: false.',
    }),
  ),
  access_token_lifetime_seconds: Type.Optional(Type.Integer({ minimum: 300, maximum: 3600 })),
  refresh_token_lifetime_seconds: Type.Optional(Type.Integer({ minimum: 86_400, maximum: 7_776_000 })),
  backchannel_logout_uri: Type.Optional(
    uri('The URL to notify when a session ends (OpenID Connect Back-Channel Logout).'),
  ),
  allowed_origins: Type.Optional(
    texts('Origins whose pages may call the endpoints, in addition to those of redirect_uris.', ['https://x.example']),
  ),
  client_uri: Type.Optional(uri('The home page of the client; linked on the consent page.')),
  logo_uri: Type.Optional(
    uri(
      'The https URL of its logo: PNG, JPEG or WebP, at most 64 KiB and 2048 × 2048 pixels. Fetched once, and served by Gatehouse on the consent page; a new URL is fetched again.',
    ),
  ),
  policy_uri: Type.Optional(uri('Its privacy policy.')),
  tos_uri: Type.Optional(uri('Its terms of service.')),
}

/** A client in the configuration file and in the management API. */
export const ClientDeclaration = Type.Object(
  {
    client_id: id('The client identifier.', 'photo-print'),
    client_secret: Type.Optional(
      Type.String({ minLength: 16, maxLength: 512, description: 'Default: generated, and shown once.' }),
    ),
    ...clientMembers,
  },
  { additionalProperties: false, description: 'An application that requests access.' },
)
/** A valid {@link ClientDeclaration}. */
export type ClientDeclaration = Static<typeof ClientDeclaration>

/** Claims that have members of their own, which are validated. */
const ownClaims = ['sub', 'email', 'email_verified', 'updated_at']

const userMembers = {
  username: Type.Optional(
    name('The name to sign in with, in addition to the email address. Default: the id.', 'alice'),
  ),
  email: Type.Optional(Type.String({ format: 'email', maxLength: 254, examples: ['alice@example.com'] })),
  email_verified: Type.Optional(Type.Boolean()),
  plan: Type.Optional(name('The tier that limits the user.', 'free')),
  roles: Type.Optional(texts('The roles claim of the tokens of the user.', ['support'])),
  claims: Type.Optional(
    Type.Record(Type.String({ maxLength: 64 }), Type.Unknown(), {
      propertyNames: { not: { enum: ownClaims } },
      description: 'Standard claims: name, given_name, family_name, picture, locale, zoneinfo, phone_number, address …',
      examples: [{ name: 'Alice Adams', locale: 'en-GB', zoneinfo: 'Europe/London' }],
    }),
  ),
}

/** A user in the configuration file and in the management API. */
export const UserDeclaration = Type.Object(
  {
    id: id('The subject identifier: the claim sub.', 'alice'),
    password: Type.Optional(
      Type.String({
        minLength: 8,
        maxLength: 256,
        description:
          'At least `passwords.min_length` characters, and not a common password. Default: generated, and shown once.',
      }),
    ),
    ...userMembers,
  },
  { additionalProperties: false, description: 'A person who can sign in.' },
)
/** A valid {@link UserDeclaration}. */
export type UserDeclaration = Static<typeof UserDeclaration>

/** A user that another system exports. */
export const ImportedUser = Type.Object(
  {
    id: id('The subject identifier: the claim sub.', 'alice'),
    password_hash: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1024,
        description:
          'argon2, bcrypt, PBKDF2 or scrypt, as a PHC string. Replaced by argon2id at the first sign-in. Without one the user has no password until it is reset.',
        examples: ['$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy'],
      }),
    ),
    ...userMembers,
  },
  { additionalProperties: false, description: 'A user of another system.' },
)
/** A valid {@link ImportedUser}. */
export type ImportedUser = Static<typeof ImportedUser>

/** A resource server: an API that consumes tokens. */
export const ResourceDeclaration = Type.Object(
  {
    id: uri('The identifier and audience of the API, named in requests as `resource` (RFC 8707).'),
    scopes: Type.Optional(texts('The scopes of the API. Its tokens carry no others.', ['read:photos'])),
    access_token_format: Type.Optional(
      oneOf(['jwt', 'opaque'], 'The format of its access tokens. Default: that of the client.'),
    ),
    access_token_signed_response_alg: Type.Optional(
      signedWith('The algorithm of its access tokens. Default: that of the client.'),
    ),
    access_token_lifetime_seconds: Type.Optional(Type.Integer({ minimum: 300, maximum: 3600 })),
  },
  { additionalProperties: false, description: 'An API that consumes tokens.' },
)
/** A valid {@link ResourceDeclaration}. */
export type ResourceDeclaration = Static<typeof ResourceDeclaration>

/** What may be changed of a client: everything but its id; the secret has its own path. */
export const ClientPatch = Type.Partial(
  Type.Object(
    {
      ...clientMembers,
      policy: Type.Union([name(policyOfClient, 'partners'), Type.Null({ description: 'Ends it.' })]),
    },
    { additionalProperties: false },
  ),
)
/** A valid {@link ClientPatch}. */
export type ClientPatch = Static<typeof ClientPatch>

/** What may be changed of a user. */
export const UserPatch = Type.Partial(
  Type.Object({ ...userMembers, locked: Type.Boolean() }, { additionalProperties: false }),
)
/** A valid {@link UserPatch}. */
export type UserPatch = Static<typeof UserPatch>
