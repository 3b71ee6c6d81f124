import type { Http } from '@gatehouse/kit'
import { icon, styleSheet, submitScript } from '@gatehouse/kit/page'
import { Type } from 'typebox'
import { forgotPasswordEndpoint, resetPasswordEndpoint, verifyEmailEndpoint } from './account/links.ts'
import { accountEndpoint, endEndpoint } from './account/overview.ts'
import { changePasswordEndpoint } from './account/password.ts'
import { confirmRegistrationEndpoint, registerEndpoint } from './account/register.ts'
import { adminRoutes } from './admin/routes.ts'
import { consentEndpoint } from './authorize/consent.ts'
import { authorizeEndpoint, continueEndpoint } from './authorize/endpoint.ts'
import { pushEndpoint } from './authorize/push.ts'
import type { Authenticate } from './caller.ts'
import { openPreflight, preflight } from './cors.ts'
import { deviceAuthorizationEndpoint } from './device/authorization.ts'
import { deviceCodeEndpoint, deviceDecisionEndpoint, devicePageEndpoint } from './device/pages.ts'
import { continuationBytes } from './go-on.ts'
import { introspectEndpoint } from './introspect/endpoint.ts'
import { confirmSignInEndpoint } from './login/confirm.ts'
import { loginEndpoint } from './login/endpoint.ts'
import { confirmEndSessionEndpoint, endSessionEndpoint } from './logout/endpoint.ts'
import { serverMetadata } from './metadata/documents.ts'
import { acceptForms, oauthRoute } from './oauth-route.ts'
import { pageRoute } from './page-route.ts'
import type { Parts } from './parts.ts'
import { revokeEndpoint } from './revoke/endpoint.ts'
import { revocationFeed } from './revoke/feed.ts'
import * as schemas from './route-schemas.ts'
import { tokenEndpoint } from './token/endpoint.ts'
import { userinfoEndpoint } from './userinfo/endpoint.ts'
import { readUser } from './users/endpoint.ts'

const publicDocument = 'public, max-age=300'
/** Shorter than the minute between the publication of a key that a command made and its first signature. */
const publicKeys = 'public, max-age=30'

/** Every endpoint of identity. */
export async function routes(http: Http, parts: Parts, authenticate: Authenticate): Promise<void> {
  acceptForms(http)
  oauthRoutes(http, parts)
  pageRoutes(http, parts)
  documentRoutes(http, parts)
  apiRoutes(http, parts, authenticate)
  adminRoutes(http, parts, authenticate)
}

/** RFC 6749 and its kin: forms in, JSON out. */
function oauthRoutes(http: Http, parts: Parts): void {
  const route = (schema: object) => ({ ...oauthRoute, schema })
  http.post('/token', route(schemas.token), tokenEndpoint(parts))
  http.post('/revoke', route(schemas.revoke), revokeEndpoint(parts))
  http.post('/introspect', route(schemas.introspect), introspectEndpoint(parts))
  http.post('/device_authorization', route(schemas.deviceAuthorization), deviceAuthorizationEndpoint(parts))
  http.post('/par', route(schemas.push), pushEndpoint(parts))
  const userinfo = { validatorCompiler: () => () => true, schema: schemas.userinfo as object }
  http.get('/userinfo', userinfo, userinfoEndpoint(parts))
  http.post('/userinfo', userinfo, userinfoEndpoint(parts))
  for (const path of ['/token', '/revoke', '/userinfo', '/par', '/device_authorization']) {
    http.options(path, { schema: schemas.hidden }, preflight('GET, POST'))
  }
}

/** What people see. */
function pageRoutes(http: Http, parts: Parts): void {
  const route = (summary: string) => ({ ...pageRoute(parts), schema: schemas.page(summary) })
  http.get('/authorize', route('Ask a user for access (RFC 6749, OpenID Connect)'), authorizeEndpoint(parts))
  http.post('/authorize', route('Ask a user for access, by a form'), authorizeEndpoint(parts))
  const carrying = (summary: string) => ({ ...route(summary), bodyLimit: continuationBytes })
  http.get('/authorize/continue', route('Go on after a login'), continueEndpoint(parts))
  http.post('/authorize/continue', carrying('Go on after a login, by a form'), continueEndpoint(parts))
  http.post('/login', carrying('Sign in'), loginEndpoint(parts))
  http.post('/consent', carrying('Allow or deny'), consentEndpoint(parts))
  http.get('/device', route('Enter the code of a device (RFC 8628)'), devicePageEndpoint(parts))
  http.post('/device', route('Take the code of a device'), deviceCodeEndpoint(parts))
  http.post('/device/decision', route('Connect a device or not'), deviceDecisionEndpoint(parts))
  http.get('/end_session', route('Sign out (RP-Initiated Logout)'), endSessionEndpoint(parts))
  http.post('/end_session', route('Sign out, by a form'), endSessionEndpoint(parts))
  http.post('/end_session/confirm', route('Confirm signing out'), confirmEndSessionEndpoint(parts))
  http.get('/account', route('Connected apps, sessions and API keys'), accountEndpoint(parts))
  http.post('/account/end', route("End an app's access, a session or an API key"), endEndpoint(parts))
  for (const [path, summary, endpoint] of [
    ['/account/password', 'Change the password', changePasswordEndpoint(parts)],
    ['/password/forgot', 'Ask for a link to a new password', forgotPasswordEndpoint(parts)],
    ['/password/reset', 'Choose a new password by a mailed link', resetPasswordEndpoint(parts)],
    ['/login/confirm', 'Complete a sign-in by a mailed link', confirmSignInEndpoint(parts)],
    ['/email/verify', 'Prove an address by a mailed link', verifyEmailEndpoint(parts)],
    ['/register', 'Create an account', registerEndpoint(parts)],
    ['/register/confirm', 'Begin an account by a mailed link', confirmRegistrationEndpoint(parts)],
  ] as const) {
    http.get(path, route(summary), endpoint)
    http.post(path, route(summary), endpoint)
  }
  for (const [path, type, text] of [
    ['/pages/style.css', 'text/css; charset=utf-8', styleSheet(parts.branding)],
    ['/pages/icon.svg', 'image/svg+xml', icon(parts.branding)],
    ['/pages/submit.js', 'text/javascript; charset=utf-8', submitScript],
  ] as const) {
    http.get(path, { schema: schemas.hidden }, (_request, reply) =>
      reply.header('cache-control', publicDocument).type(type).send(text),
    )
  }
}

/** What anyone may read. */
function documentRoutes(http: Http, parts: Parts): void {
  for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']) {
    http.get(path, { schema: schemas.metadata }, (_request, reply) => {
      reply.header('cache-control', publicDocument).header('access-control-allow-origin', '*')
      reply.header('cross-origin-resource-policy', 'cross-origin')
      return serverMetadata(parts)
    })
    http.options(path, { schema: schemas.hidden }, openPreflight('GET, HEAD'))
  }
  http.options('/.well-known/jwks.json', { schema: schemas.hidden }, openPreflight('GET, HEAD'))
  http.get('/.well-known/jwks.json', { schema: schemas.jwks }, (_request, reply) => {
    reply.header('cache-control', publicKeys).header('access-control-allow-origin', '*')
    reply.header('cross-origin-resource-policy', 'cross-origin')
    return parts.keys.jwks()
  })
}

/** What callers with a bearer token may ask. */
function apiRoutes(http: Http, parts: Parts, authenticate: Authenticate): void {
  const userId = Type.Object({ id: Type.String() })
  http.get('/users/:id', { schema: { ...schemas.user, params: userId } }, async (request) => {
    await authenticate(request, 'read:users')
    return readUser(parts, request.params.id)
  })
  const cursor = Type.Object({ after: Type.Optional(Type.String()) }, { additionalProperties: false })
  http.get('/revocations', { schema: { ...schemas.revocations, querystring: cursor } }, async (request) => {
    await authenticate(request, 'read:revocations')
    return revocationFeed(parts, request.query.after)
  })
}
