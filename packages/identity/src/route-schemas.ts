import { Type } from 'typebox'

const text = Type.String()
const anything = Type.Record(text, Type.Unknown())
const oauthError = Type.Object({ error: text, error_description: Type.Optional(text) }, { title: 'OAuthError' })

/** The error answers of RFC 6749 §5.2. */
const errors = { 400: oauthError, 401: oauthError, 429: oauthError }
const clientAuth = [{ basic: [] }, {}]

/** A form of OAuth parameters, for the API document: the endpoint itself checks them, and ignores those it doesn't know. */
function form(...names: readonly string[]): object {
  const schema = Type.Object(Object.fromEntries(names.map((name) => [name, Type.Optional(text)])))
  return { content: { 'application/x-www-form-urlencoded': { schema } } }
}

const credentials = ['client_id', 'client_secret', 'client_assertion', 'client_assertion_type'] as const

const tokenAnswer = Type.Object(
  {
    access_token: text,
    token_type: text,
    expires_in: Type.Integer(),
    scope: Type.Optional(text),
    refresh_token: Type.Optional(text),
    id_token: Type.Optional(text),
  },
  { title: 'Tokens' },
)

export const token = {
  tags: ['token'],
  summary: 'Get tokens (RFC 6749)',
  security: clientAuth,
  body: form(
    'grant_type',
    ...credentials,
    'scope',
    'resource',
    'code',
    'code_verifier',
    'redirect_uri',
    'refresh_token',
    'device_code',
  ),
  response: { 200: tokenAnswer, ...errors },
}

export const revoke = {
  tags: ['token'],
  summary: 'Revoke a token and its grant (RFC 7009)',
  security: clientAuth,
  body: form('token', 'token_type_hint', ...credentials),
  response: { 200: Type.Null({ description: 'Nothing; for unknown tokens too.' }), ...errors },
}

export const introspect = {
  tags: ['token'],
  summary: 'Ask about a token (RFC 7662)',
  security: clientAuth,
  body: form('token', 'token_type_hint', ...credentials),
  response: { 200: Type.Object({ active: Type.Boolean() }, { additionalProperties: true }), ...errors },
}

export const deviceAuthorization = {
  tags: ['token'],
  summary: 'Begin on a device without a browser (RFC 8628)',
  security: clientAuth,
  body: form('scope', 'resource', ...credentials),
  response: {
    200: Type.Object({
      device_code: text,
      user_code: text,
      verification_uri: text,
      verification_uri_complete: text,
      expires_in: Type.Integer(),
      interval: Type.Integer(),
    }),
    ...errors,
  },
}

export const push = {
  tags: ['authorize'],
  summary: 'Push an authorization request (RFC 9126)',
  security: clientAuth,
  body: form('response_type', 'redirect_uri', 'scope', 'state', 'code_challenge', 'nonce', ...credentials),
  response: { 201: Type.Object({ request_uri: text, expires_in: Type.Integer() }), ...errors },
}

export const userinfo = {
  tags: ['userinfo'],
  summary: 'Claims about the user (OpenID Connect Core)',
  security: [{ bearer: ['openid'] }],
  response: { 200: Type.Object({ sub: text }, { additionalProperties: true }) },
}

/** Not in the API document. */
export const hidden: object = { hide: true }

/** A page for people. */
export function page(summary: string): object {
  return { tags: ['pages'], summary, security: [] }
}

export const metadata = {
  tags: ['metadata'],
  summary: 'What this server can do',
  security: [],
  response: { 200: anything },
}

export const jwks = {
  tags: ['metadata'],
  summary: 'Public keys (RFC 7517)',
  security: [],
  response: { 200: Type.Object({ keys: Type.Array(anything) }) },
}

export const user = {
  tags: ['users'],
  summary: "A user's plan",
  security: [{ bearer: ['read:users'] }],
  response: { 200: Type.Object({ id: text, plan: text }) },
}

export const revocations = {
  tags: ['token'],
  summary: 'What was revoked after a cursor, in order',
  security: [{ bearer: ['read:revocations'] }],
  response: { 200: Type.Object({ revocations: Type.Array(anything), next: text }) },
}
