import type { Http } from '@gatehouse/kit'
import { icon, styleSheet, submitScript } from '@gatehouse/kit/page'
import { type TSchema, Type } from 'typebox'
import { downloadDataEndpoint } from './account/data-download.ts'
import { deleteAccountEndpoint } from './account/deletion.ts'
import { changeEmailEndpoint, confirmEmailEndpoint } from './account/email-change.ts'
import { signOutEverywhereEndpoint } from './account/everywhere.ts'
import { accountEndpoint, revokeAccessEndpoint } from './account/overview.ts'
import { changePasswordEndpoint } from './account/password-change.ts'
import { forgotPasswordEndpoint, resetPasswordEndpoint, verifyEmailEndpoint } from './account/password-reset.ts'
import { profileEndpoint } from './account/profile.ts'
import { confirmRegistrationEndpoint, registerEndpoint } from './account/registration.ts'
import { adminRoutes } from './admin/routes.ts'
import { consentEndpoint } from './authorize/consent-endpoint.ts'
import { authorizeEndpoint, continueEndpoint } from './authorize/endpoint.ts'
import type { IdentityContext } from './context/context.ts'
import { deviceAuthorizationEndpoint } from './device/authorization.ts'
import { deviceDecisionEndpoint } from './device/decision.ts'
import { deviceCodeEndpoint, devicePageEndpoint } from './device/pages.ts'
import { openPreflight, preflight } from './http/cors.ts'
import { acceptForms, oauthRoute } from './http/oauth-route.ts'
import type { OperationId } from './http/operations.ts'
import { pageRoute } from './http/page-route.ts'
import * as schemas from './http/route-schemas.ts'
import { introspectEndpoint } from './introspect/endpoint.ts'
import { confirmSignInEndpoint } from './login/confirmation.ts'
import { enterCodeEndpoint, requestCodeEndpoint } from './login/email-code.ts'
import { loginEndpoint } from './login/endpoint.ts'
import { confirmEndSessionEndpoint, endSessionEndpoint } from './logout/endpoint.ts'
import { serverMetadata } from './metadata/server-metadata.ts'
import type { Authenticate } from './model/caller.ts'
import { pushEndpoint } from './par/endpoint.ts'
import { revokeEndpoint } from './revoke/endpoint.ts'
import { readRevocations } from './revoke/feed.ts'
import { continuationBytes } from './sessions/resume.ts'
import { tokenEndpoint } from './token/endpoint.ts'
import { userinfoEndpoint } from './userinfo/endpoint.ts'
import { readUserPlan } from './users/plan.ts'

const publicDocument = 'public, max-age=300'
/** Shorter than the minute between the publication of a key that a command made and its first signature. */
const publicKeys = 'public, max-age=30'

/** Registers every endpoint of identity. */
export async function routes(http: Http, context: IdentityContext, authenticate: Authenticate): Promise<void> {
  acceptForms(http)
  oauthRoutes(http, context)
  pageRoutes(http, context)
  documentRoutes(http, context)
  apiRoutes(http, context, authenticate)
  adminRoutes(http, context, authenticate)
}

/** The OAuth endpoints: forms in, JSON out. */
function oauthRoutes(http: Http, context: IdentityContext): void {
  const route = (schema: object) => ({ ...oauthRoute, schema })
  http.post('/token', route(schemas.token), tokenEndpoint(context))
  http.post('/revoke', route(schemas.revoke), revokeEndpoint(context))
  http.post('/introspect', route(schemas.introspect), introspectEndpoint(context))
  http.post('/device_authorization', route(schemas.deviceAuthorization), deviceAuthorizationEndpoint(context))
  http.post('/par', route(schemas.push), pushEndpoint(context))
  const validatorCompiler = () => () => true
  for (const [method, id] of [
    ['GET', 'userinfo.get'],
    ['POST', 'userinfo.post'],
  ] as const)
    http.route({
      method,
      url: '/userinfo',
      validatorCompiler,
      schema: schemas.userinfo(id),
      handler: userinfoEndpoint(context),
    })
  for (const path of ['/token', '/revoke', '/userinfo', '/par', '/device_authorization']) {
    http.options(path, { schema: schemas.hidden }, preflight('GET, POST'))
  }
}

/** The pages. */
function pageRoutes(http: Http, context: IdentityContext): void {
  const route = (id: OperationId, query?: TSchema) => ({ ...pageRoute(context), schema: schemas.page(id, query) })
  http.get('/authorize', route('authorizePage.show', schemas.authorizeQuery), authorizeEndpoint(context))
  http.post('/authorize', route('authorizePage.submit'), authorizeEndpoint(context))
  const carrying = (id: OperationId) => ({ ...route(id), bodyLimit: continuationBytes })
  http.get('/authorize/continue', route('authorizePage.resume'), continueEndpoint(context))
  http.post('/authorize/continue', carrying('authorizePage.resumeByForm'), continueEndpoint(context))
  http.post('/login', carrying('loginPage.submit'), loginEndpoint(context))
  http.post('/login/code', carrying('emailCodePage.request'), requestCodeEndpoint(context))
  http.post('/login/code/confirm', carrying('emailCodePage.submit'), enterCodeEndpoint(context))
  http.post('/consent', carrying('consentPage.submit'), consentEndpoint(context))
  http.get('/device', route('devicePage.show'), devicePageEndpoint(context))
  http.post('/device', route('devicePage.submit'), deviceCodeEndpoint(context))
  http.post('/device/decision', route('devicePage.decide'), deviceDecisionEndpoint(context))
  http.get('/end_session', route('logoutPage.show', schemas.logoutQuery), endSessionEndpoint(context))
  http.post('/end_session', route('logoutPage.submit'), endSessionEndpoint(context))
  http.post('/end_session/confirm', route('logoutPage.confirm'), confirmEndSessionEndpoint(context))
  http.get('/account', route('accountPage.show'), accountEndpoint(context))
  http.post('/account/end', route('accountPage.end'), revokeAccessEndpoint(context))
  http.post('/account/sign-out', route('accountPage.signOut'), signOutEverywhereEndpoint(context))
  http.get('/account/data', route('accountPage.download'), downloadDataEndpoint(context))
  http.post('/account/email/confirm', route('emailPage.confirm'), confirmEmailEndpoint(context))
  for (const [path, page, endpoint, query] of [
    ['/account/profile', 'profilePage', profileEndpoint(context), undefined],
    ['/account/email', 'emailPage', changeEmailEndpoint(context), undefined],
    ['/account/delete', 'deletionPage', deleteAccountEndpoint(context), undefined],
    ['/account/password', 'passwordPage', changePasswordEndpoint(context), undefined],
    ['/password/forgot', 'forgotPasswordPage', forgotPasswordEndpoint(context), undefined],
    ['/password/reset', 'resetPasswordPage', resetPasswordEndpoint(context), schemas.linkToken],
    ['/login/confirm', 'confirmSignInPage', confirmSignInEndpoint(context), schemas.linkToken],
    ['/email/verify', 'verifyEmailPage', verifyEmailEndpoint(context), schemas.linkToken],
    ['/register', 'registrationPage', registerEndpoint(context), undefined],
    ['/register/confirm', 'confirmRegistrationPage', confirmRegistrationEndpoint(context), schemas.linkToken],
  ] as const) {
    http.get(path, route(`${page}.show`, query), endpoint)
    http.post(path, route(`${page}.submit`), endpoint)
  }
  for (const [path, type, text] of [
    ['/pages/style.css', 'text/css; charset=utf-8', styleSheet(context.branding)],
    ['/pages/icon.svg', 'image/svg+xml', icon(context.branding)],
    ['/pages/submit.js', 'text/javascript; charset=utf-8', submitScript],
  ] as const) {
    http.get(path, { schema: schemas.hidden }, (_request, reply) =>
      reply.header('cache-control', publicDocument).type(type).send(text),
    )
  }
}

/** The public documents. */
function documentRoutes(http: Http, context: IdentityContext): void {
  for (const [path, id] of [
    ['/.well-known/openid-configuration', 'openidConfiguration.get'],
    ['/.well-known/oauth-authorization-server', 'serverMetadata.get'],
  ] as const) {
    http.get(path, { schema: schemas.metadata(id) }, (_request, reply) => {
      reply.header('cache-control', publicDocument).header('access-control-allow-origin', '*')
      reply.header('cross-origin-resource-policy', 'cross-origin')
      return serverMetadata(context)
    })
    http.options(path, { schema: schemas.hidden }, openPreflight('GET, HEAD'))
  }
  http.options('/.well-known/jwks.json', { schema: schemas.hidden }, openPreflight('GET, HEAD'))
  http.get('/.well-known/jwks.json', { schema: schemas.jwks }, (_request, reply) => {
    reply.header('cache-control', publicKeys).header('access-control-allow-origin', '*')
    reply.header('cross-origin-resource-policy', 'cross-origin')
    return context.keys.getJwks()
  })
}

/** The endpoints for callers with a bearer token. */
function apiRoutes(http: Http, context: IdentityContext, authenticate: Authenticate): void {
  const userId = Type.Object({ id: Type.String({ description: 'The user.' }) })
  http.get('/users/:id', { schema: { ...schemas.user, params: userId } }, async (request) => {
    await authenticate(request, 'read:users')
    return readUserPlan(context, request.params.id)
  })
  const cursor = Type.Object(
    {
      after: Type.Optional(
        Type.String({ pattern: '^\\d{0,15}$', description: 'The `next` of the previous response.' }),
      ),
    },
    { additionalProperties: false },
  )
  http.get('/revocations', { schema: { ...schemas.revocations, querystring: cursor } }, async (request) => {
    await authenticate(request, 'read:revocations')
    return readRevocations(context, request.query.after)
  })
}
