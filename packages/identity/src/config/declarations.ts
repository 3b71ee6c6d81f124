import { type Static, Type } from 'typebox'
import {
  assertionAudiences,
  authMethods,
  grantTypes,
  type SigningAlgorithm,
  signingAlgorithms,
} from '../model/client.ts'

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

const clientMembers = {
  client_name: Type.Optional(name('Shown on the consent page. Default: the client id.', 'Photo Print')),
  token_endpoint_auth_method: Type.Optional(
    oneOf(authMethods, 'none makes a public client. Left out: a client secret, by HTTP Basic or in the form.'),
  ),
  jwks: Type.Optional(
    Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown()), { minItems: 1, maxItems: 20 }) }),
  ),
  jwks_uri: Type.Optional(uri('Where the public keys for private_key_jwt are; https.')),
  assertion_audience: Type.Optional(
    oneOf(
      assertionAudiences,
      'What aud of its private_key_jwt assertions is: the issuer (RFC 10070), or for libraries that can not do so the endpoint. Default: issuer.',
    ),
  ),
  grant_types: Type.Optional(
    Type.Array(oneOf(grantTypes, 'A way to get tokens.'), {
      description: 'Default: authorization_code and refresh_token with redirect_uris, else client_credentials.',
      maxItems: 10,
    }),
  ),
  redirect_uris: Type.Optional(
    texts(
      'Compared character by character. For a public client the port of http://127.0.0.1, http://[::1] and http://localhost may be any (RFC 8252 §7.3).',
      ['https://app.example.com/callback'],
    ),
  ),
  allow_dotless_redirect_schemes: Type.Optional(
    Type.Boolean({
      description:
        'Lets redirect_uris have a scheme of the application without a dot, such as myapp:/callback, which any other application may take too (RFC 8252 §7.1). Default: false.',
    }),
  ),
  post_logout_redirect_uris: Type.Optional(texts('Where a browser may go after logout.', ['https://app.example.com/'])),
  scopes: Type.Optional(
    texts('What the client may ask for. Default: what OpenID Connect knows, for a client with redirect_uris.', [
      'openid',
      'profile',
      'read:users',
    ]),
  ),
  resources: Type.Optional(
    texts('Resources it may ask tokens for, beside the default API.', ['https://api.example.com']),
  ),
  roles: Type.Optional(texts('The roles claim of the tokens it gets for itself.', ['reporter'])),
  plan: Type.Optional(name('The tier that limits the client.', 'pro')),
  require_pkce: Type.Optional(
    Type.Boolean({ description: 'False lets an old confidential relying party do without PKCE. Default: true.' }),
  ),
  require_pushed_authorization_requests: Type.Optional(Type.Boolean({ description: 'RFC 9126. Default: false.' })),
  skip_consent: Type.Optional(
    Type.Boolean({ description: "For the operator's own confidential web applications. Default: false." }),
  ),
  may_introspect: Type.Optional(Type.Boolean({ description: 'May ask about tokens (RFC 7662). Default: false.' })),
  access_token_format: Type.Optional(oneOf(['jwt', 'opaque'], 'Default: jwt.')),
  access_token_signed_response_alg: Type.Optional(
    signedWith('What its access tokens are signed with, unless the resource says. Default: as the server says, ES256.'),
  ),
  id_token_signed_response_alg: Type.Optional(signedWith('Default: RS256.')),
  id_token_claims: Type.Optional(
    Type.Boolean({
      description:
        'Its ID tokens carry the claims of the granted scopes (profile, email …), as userinfo does. Default: false.',
    }),
  ),
  access_token_lifetime_seconds: Type.Optional(Type.Integer({ minimum: 300, maximum: 3600 })),
  refresh_token_lifetime_seconds: Type.Optional(Type.Integer({ minimum: 86_400, maximum: 7_776_000 })),
  backchannel_logout_uri: Type.Optional(uri('Told when a session ends (OpenID Connect Back-Channel Logout).')),
  allowed_origins: Type.Optional(
    texts('Origins of pages that may call, beside those of redirect_uris.', ['https://x.example']),
  ),
  client_uri: Type.Optional(uri('The home page of the client.')),
  logo_uri: Type.Optional(uri('Its logo; https.')),
  policy_uri: Type.Optional(uri('Its privacy policy.')),
  tos_uri: Type.Optional(uri('Its terms of service.')),
}

/** A client in the configuration file and in the management API. */
export const ClientDeclaration = Type.Object(
  {
    client_id: id('The client identifier.', 'photo-print'),
    client_secret: Type.Optional(
      Type.String({ minLength: 16, maxLength: 512, description: 'Left out: generated and shown once.' }),
    ),
    ...clientMembers,
  },
  { additionalProperties: false, description: 'An application that wants access.' },
)
export type ClientDeclaration = Static<typeof ClientDeclaration>

/** Claims that come from members of their own, which are checked; here they would say something unchecked. */
const ownClaims = ['sub', 'email', 'email_verified', 'updated_at']

const userMembers = {
  username: Type.Optional(name('What the user signs in with, beside the address. Default: the id.', 'alice')),
  email: Type.Optional(Type.String({ format: 'email', maxLength: 254, examples: ['alice@example.com'] })),
  email_verified: Type.Optional(Type.Boolean()),
  plan: Type.Optional(name('The tier that limits the user.', 'free')),
  roles: Type.Optional(texts('The roles claim of the tokens about the user.', ['support'])),
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
    id: id('The subject: the claim sub.', 'alice'),
    password: Type.Optional(
      Type.String({
        minLength: 8,
        maxLength: 256,
        description:
          'At least `passwords.min_length` characters, and no common one. Left out: generated and shown once.',
      }),
    ),
    ...userMembers,
  },
  { additionalProperties: false, description: 'A person who can sign in.' },
)
export type UserDeclaration = Static<typeof UserDeclaration>

/** A resource server: an API that consumes tokens. */
export const ResourceDeclaration = Type.Object(
  {
    id: uri('Its identifier: the audience of its tokens, asked for with resource (RFC 8707).'),
    scopes: Type.Optional(texts('The scopes it knows; tokens for it carry no others.', ['read:photos'])),
    access_token_format: Type.Optional(oneOf(['jwt', 'opaque'], 'Default: as the client says.')),
    access_token_signed_response_alg: Type.Optional(
      signedWith('What access tokens for it are signed with. Default: as the client says.'),
    ),
    access_token_lifetime_seconds: Type.Optional(Type.Integer({ minimum: 300, maximum: 3600 })),
  },
  { additionalProperties: false, description: 'An API that consumes tokens.' },
)
export type ResourceDeclaration = Static<typeof ResourceDeclaration>

/** What may be changed about a client: everything but its id; the secret has a path of its own. */
export const ClientPatch = Type.Partial(Type.Object(clientMembers, { additionalProperties: false }))
export type ClientPatch = Static<typeof ClientPatch>

/** What may be changed about a user. */
export const UserPatch = Type.Partial(
  Type.Object({ ...userMembers, locked: Type.Boolean() }, { additionalProperties: false }),
)
export type UserPatch = Static<typeof UserPatch>
