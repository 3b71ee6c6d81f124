import { type Static, Type } from 'typebox'
import { connectionKinds } from '../model/connection.ts'
import { maxMemberRoles } from '../model/organization.ts'
import { roleKey } from './organizations.ts'

const oneOf = <const Values extends readonly string[]>(values: Values, description: string) =>
  Type.Unsafe<Values[number]>({ type: 'string', enum: [...values], description })

const text = (description: string, examples: readonly string[] = [], maxLength = 512) =>
  Type.String({ minLength: 1, maxLength, description, ...(examples.length > 0 ? { examples: [...examples] } : {}) })

const texts = (description: string, pattern: string, examples: readonly string[]) =>
  Type.Array(Type.String({ pattern, maxLength: 253 }), {
    description,
    examples: [[...examples]],
    maxItems: 200,
    uniqueItems: true,
  })

const domain = '^[a-z0-9-]+(\\.[a-z0-9-]+)+$'

const claimName = (claim: string) =>
  Type.Optional(text(`The provider's claim for ${claim}. Default: ${claim}.`, [], 100))

const members = {
  name: Type.Optional(text('Shown on the sign-in page. Default: the name of the kind.', ['Example Inc.'], 60)),
  enabled: Type.Optional(
    Type.Boolean({ description: 'A disabled connection refuses everything, also a sign-in that began before.' }),
  ),
  hidden: Type.Optional(
    Type.Boolean({ description: 'Not offered on the sign-in page; users reach it by other ways. Default: false.' }),
  ),
  link_only: Type.Optional(
    Type.Boolean({ description: 'Users can connect it to their account, but not sign in with it. Default: false.' }),
  ),
  issuer: Type.Optional(
    text('The issuer identifier. Required for oidc. For github: the address of an Enterprise Server.', [
      'https://login.example.com',
    ]),
  ),
  client_id: text('The client id that the provider assigned.'),
  token_endpoint_auth_method: Type.Optional(
    oneOf(
      ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
      'How Gatehouse authenticates there. Default: what the metadata of the provider lists; private_key_jwt with a private_key.',
    ),
  ),
  tenants: Type.Optional(
    texts('microsoft: the ids of the tenants whose users may sign in.', '^[0-9a-f-]{36}$', [
      '9188040d-6c67-4c5b-b112-36a304b66dad',
    ]),
  ),
  hosted_domain: Type.Optional(
    Type.String({ pattern: domain, maxLength: 253, description: 'google: only users of this Workspace domain.' }),
  ),
  team_id: Type.Optional(text('apple: the team id.', ['ABCDE12345'], 20)),
  key_id: Type.Optional(text('The id of the private key.', [], 100)),
  scopes: Type.Optional(
    texts('The scopes to request. Default: those of name and email address.', '^[!-~]+$', ['openid', 'email']),
  ),
  create_users: Type.Optional(
    Type.Boolean({
      description:
        'Whether an account is created for a user who has none. Default: whether users may register (features.registration).',
    }),
  ),
  trust_email: Type.Optional(
    Type.Boolean({
      description:
        'Treats every email address as verified, also without the claim email_verified: for a provider whose addresses your organization assigns. Default: false.',
    }),
  ),
  authoritative_domains: Type.Optional(
    texts(
      'The domains whose email addresses the provider itself assigns. A verified address there is linked to the account with that verified address without a question. Default: none.',
      domain,
      ['example.com'],
    ),
  ),
  domains: Type.Optional(
    texts('The domains of email addresses whose users sign in with this connection.', domain, ['example.com']),
  ),
  organization: Type.Optional(
    Type.String({
      pattern: '^(?!\\.{1,2}$)[A-Za-z0-9._~:@-]{1,128}$',
      description:
        'The organization that the connection belongs to. It signs in only users with an address of a domain that the organization has verified, and whoever enters such an address is sent there. An organization has one connection.',
      examples: ['acme'],
    }),
  ),
  required: Type.Optional(
    Type.Boolean({
      description:
        'Users with an address of its domains sign in with this connection and in no other way. Default: false.',
    }),
  ),
  add_members: Type.Optional(
    Type.Boolean({
      description:
        'Makes who signs in a member of the organization, except who was removed from it before. Default: false.',
    }),
  ),
  member_roles: Type.Optional(
    Type.Array(roleKey, {
      description: 'The roles of members who are added by add_members. Default: none.',
      examples: [['viewer']],
      maxItems: maxMemberRoles,
      uniqueItems: true,
    }),
  ),
  logout: Type.Optional(
    oneOf(
      ['local', 'upstream'],
      'oidc and microsoft: whether signing out at Gatehouse ends the session at the provider too. Default: local.',
    ),
  ),
  claim_names: Type.Optional(
    Type.Object(
      {
        name: claimName('name'),
        given_name: claimName('given_name'),
        family_name: claimName('family_name'),
        picture: claimName('picture'),
        locale: claimName('locale'),
      },
      { additionalProperties: false, description: 'The names of claims, where the provider uses others.' },
    ),
  ),
}

const kind = oneOf(connectionKinds, 'The kind of provider; oidc for any issuer.')

const secrets = {
  client_secret: Type.Optional(text('The client secret that the provider assigned.', ['${GOOGLE_CLIENT_SECRET}'])),
  private_key: Type.Optional(
    text('A private key (PKCS #8, PEM): of apple, or for private_key_jwt.', ['${APPLE_PRIVATE_KEY}'], 8192),
  ),
}

/** A connection in the configuration file and in the management API. */
export const ConnectionDeclaration = Type.Object(
  {
    id: Type.String({
      pattern: '^[a-z0-9][a-z0-9-]{0,62}$',
      description: 'Part of the callback address: lower-case letters, digits and -.',
      examples: ['google'],
    }),
    kind,
    ...members,
    ...secrets,
  },
  { additionalProperties: false, description: 'Another identity provider that users sign in with.' },
)
/** A valid {@link ConnectionDeclaration}. */
export type ConnectionDeclaration = Static<typeof ConnectionDeclaration>

/** What may be changed of a connection: everything but its id and kind. */
export const ConnectionPatch = Type.Partial(Type.Object({ ...members, ...secrets }, { additionalProperties: false }))
/** A valid {@link ConnectionPatch}. */
export type ConnectionPatch = Static<typeof ConnectionPatch>
