import { type TProperties, type TSchema, Type } from 'typebox'
import { grantTypes } from '../model/client.ts'

/*
 * The parameters of OAuth requests, for the API document. The endpoints validate them, because every error is reported
 * as RFC 6749 requires and unknown parameters are ignored.
 */

const text = (description: string, options: object = {}) => Type.String({ description, ...options })
const uri = (description: string) => text(description, { format: 'uri', maxLength: 2048 })
const oneOf = (values: readonly string[], description: string) =>
  Type.Unsafe<string>({ type: 'string', enum: [...values], description })

const parameters = {
  grant_type: oneOf([...grantTypes], 'How the client obtains the tokens.'),
  client_id: text('The client identifier. Optional with HTTP Basic credentials.'),
  client_secret: text('The client secret, for client_secret_post.'),
  client_assertion: text('The client assertion, a JWT, for private_key_jwt (RFC 7523 §2.2).'),
  client_assertion_type: oneOf(
    ['urn:ietf:params:oauth:client-assertion-type:jwt-bearer'],
    'The type of client_assertion.',
  ),
  scope: text('Scopes, separated by spaces.', { examples: ['openid profile'] }),
  resource: Type.Array(uri('An API for which the token is requested (RFC 8707).'), {
    description: 'The APIs for which tokens are requested (RFC 8707); repeated for several.',
  }),
  code: text('The authorization code.'),
  code_verifier: text('The PKCE verifier (RFC 7636 §4.1).', { pattern: '^[A-Za-z0-9._~-]{43,128}$' }),
  redirect_uri: uri('A registered redirect URI of the client.'),
  refresh_token: text('The refresh token.'),
  device_code: text('The device code (RFC 8628 §3.4).'),
  token: text('The access or refresh token.'),
  token_type_hint: text('The type of the token, such as refresh_token. Not required.'),
  response_type: oneOf(['code'], 'The authorization code flow.'),
  response_mode: text('How the response is returned: query, fragment or form_post.'),
  state: text('Returned to the client unchanged.'),
  code_challenge: text('The PKCE challenge (RFC 7636 §4.2).', { pattern: '^[A-Za-z0-9_-]{43}$' }),
  code_challenge_method: oneOf(['S256'], 'The only method supported.'),
  nonce: text('Returned in the ID token (OpenID Connect Core §3.1.2.1).'),
  prompt: text('Any of login, consent and select_account, separated by spaces; or none.'),
  max_age: Type.Integer({ minimum: 0, description: 'The maximum number of seconds since the user signed in.' }),
  acr_values: text('Preferred authentication context classes, separated by spaces.'),
  claims: text('Individually requested claims, as JSON (OpenID Connect Core §5.5).'),
  login_hint: text('The name or email address with which the user may sign in.'),
  id_token_hint: text('An ID token that was issued to the client.'),
  organization: text('The id of the organization that the tokens are for. The user must be a member.', {
    maxLength: 128,
  }),
  ui_locales: text('Language tags, separated by spaces, in order of preference.'),
  request_uri: text('The request_uri of a pushed authorization request (RFC 9126).'),
  logout_token: text('The logout token of the provider, a JWT (OpenID Connect Back-Channel Logout §2.4).'),
  post_logout_redirect_uri: uri('A registered post-logout redirect URI of the client.'),
} as const satisfies Readonly<Record<string, TSchema>>
type Name = keyof typeof parameters

/** The parameters that authenticate a client. */
export const credentials = ['client_id', 'client_secret', 'client_assertion', 'client_assertion_type'] as const
/** The parameters of an authorization request. */
export const authorization = [
  'response_type',
  'response_mode',
  'redirect_uri',
  'scope',
  'resource',
  'state',
  'code_challenge',
  'code_challenge_method',
  'nonce',
  'prompt',
  'max_age',
  'acr_values',
  'claims',
  'login_hint',
  'id_token_hint',
  'organization',
  'ui_locales',
] as const satisfies readonly Name[]

/** Creates the schema of an object of parameters. */
function createSchema(required: readonly Name[], optional: readonly Name[]): TSchema {
  const members: TProperties = {}
  for (const name of required) members[name] = parameters[name]
  for (const name of optional) members[name] = Type.Optional(parameters[name])
  return Type.Object(members, { additionalProperties: Type.String() })
}

/** A form; a parameter that may be repeated is a member per value (RFC 8707 §2). */
export function form(required: readonly Name[], optional: readonly Name[]): object {
  return { content: { 'application/x-www-form-urlencoded': { schema: createSchema(required, optional) } } }
}

/** A query. */
export function query(required: readonly Name[], optional: readonly Name[]): TSchema {
  return createSchema(required, optional)
}

/** The token of a mailed link. */
export const linkToken = Type.Object({ token: Type.Optional(text('The token of the mailed link.')) })
