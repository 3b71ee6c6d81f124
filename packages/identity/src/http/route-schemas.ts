import { problemAnswer } from '@gatehouse/kit'
import { type TSchema, Type } from 'typebox'
import { type OperationId, operation } from './operations/index.ts'
import { authorization, credentials, form, query } from './parameter-schemas.ts'

export { linkToken } from './parameter-schemas.ts'

const text = Type.String()
const anything = Type.Record(text, Type.Unknown())
const oauthError = Type.Object(
  {
    error: Type.String({ description: 'The error code, such as invalid_grant.' }),
    error_description: Type.Optional(Type.String({ description: 'The error description, for developers.' })),
  },
  { title: 'OAuthError', description: 'The error response of RFC 6749 §5.2.' },
)

const errors = { 400: oauthError, 401: oauthError, 429: oauthError, 500: oauthError, 503: oauthError }
const clientAuth = [{ basic: [] }, {}]

const tokenSchema = Type.Object(
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

/** POST /token. */
export const token = {
  tags: ['token'],
  ...operation('tokens.issue'),
  security: clientAuth,
  body: form(
    ['grant_type'],
    [...credentials, 'scope', 'resource', 'code', 'code_verifier', 'redirect_uri', 'refresh_token', 'device_code'],
  ),
  response: { 200: tokenSchema, ...errors },
}

/** POST /revoke. */
export const revoke = {
  tags: ['token'],
  ...operation('tokens.revoke'),
  security: clientAuth,
  body: form(['token'], ['token_type_hint', ...credentials]),
  response: { 200: Type.Null({ description: 'The token is revoked or was unknown.' }), ...errors },
}

/** POST /introspect. */
export const introspect = {
  tags: ['token'],
  ...operation('tokens.introspect'),
  security: clientAuth,
  body: form(['token'], ['token_type_hint', ...credentials]),
  response: { 200: Type.Object({ active: Type.Boolean() }, { additionalProperties: true }), ...errors },
}

/** POST /device_authorization. */
export const deviceAuthorization = {
  tags: ['token'],
  ...operation('deviceAuthorizations.create'),
  security: clientAuth,
  body: form([], ['scope', 'resource', 'organization', ...credentials]),
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

/** POST /par. */
export const push = {
  tags: ['authorize'],
  ...operation('pushedRequests.create'),
  security: clientAuth,
  body: form(['response_type'], [...authorization, ...credentials]),
  response: { 201: Type.Object({ request_uri: text, expires_in: Type.Integer() }), ...errors },
}

/** POST /login/providers/{connection}/logout. */
export const backChannelLogout = {
  tags: ['token'],
  ...operation('providerLogouts.create'),
  security: [],
  body: form(['logout_token'], []),
  response: { 200: Type.Null({ description: 'The sessions have ended.' }), ...errors },
}

/** Userinfo by one of its two methods. */
export function userinfo(id: OperationId): object {
  const response = { 200: Type.Object({ sub: text }, { additionalProperties: true }) }
  return { tags: ['userinfo'], ...operation(id), security: [{ bearer: ['openid'] }], response }
}

/** Not in the API document. */
export const hidden: object = { hide: true }

/** A page; with a query where clients build its address. */
export function page(id: OperationId, querystring?: TSchema): object {
  return { tags: ['pages'], ...operation(id), security: [], ...(querystring ? { querystring } : {}) }
}

/** The query of GET /authorize. */
export const authorizeQuery = query(['client_id'], [...authorization, 'request_uri'])
/** The query of GET /end_session. */
export const logoutQuery = query([], ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state', 'ui_locales'])

/** The query of GET /end_session/return. */
export const logoutState = query([], ['state'])

/** A discovery document. */
export function metadata(id: OperationId): object {
  return { tags: ['metadata'], ...operation(id), security: [], response: { 200: anything } }
}

/** GET /.well-known/jwks.json. */
export const jwks = {
  tags: ['metadata'],
  ...operation('jwks.get'),
  security: [],
  response: { 200: Type.Object({ keys: Type.Array(anything) }) },
}

/** GET /users/{id}. */
export const user = {
  tags: ['users'],
  ...operation('users.getPlan'),
  security: [{ bearer: ['read:users'] }],
  response: { 200: Type.Object({ id: text, plan: text }) },
}

/** GET /revocations. */
export const revocations = {
  tags: ['token'],
  ...operation('revocations.read'),
  security: [{ bearer: ['read:revocations'] }],
  response: {
    200: Type.Object({ revocations: Type.Array(anything), next: text }),
    410: problemAnswer('The cursor is ahead of the feed: it is of another database. Begin without a cursor.'),
  },
}
