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
import { organizationEndpoint } from './authorize/organization-endpoint.ts'
import type { IdentityContext } from './context/context.ts'
import { deviceAuthorizationEndpoint } from './device/authorization.ts'
import { deviceDecisionEndpoint } from './device/decision.ts'
import { deviceCodeEndpoint, devicePageEndpoint } from './device/pages.ts'
import { enrolAppEndpoint } from './factors/app.ts'
import { changeFactorsEndpoint, factorsEndpoint } from './factors/overview.ts'
import { enrolSignInEndpoint, factorSignInEndpoint } from './factors/sign-in.ts'
import { accountProvidersEndpoint } from './federation/account-providers.ts'
import { backChannelLogoutEndpoint } from './federation/back-channel-logout.ts'
import { providerCallbackEndpoint } from './federation/callback-endpoint.ts'
import {
  sendToOrganization,
  signInWithOrganizationEndpoint,
  signInWithProviderEndpoint,
} from './federation/sign-in-endpoint.ts'
import { openPreflight, preflight } from './http/cors.ts'
import { acceptForms, oauthRoute } from './http/oauth-route.ts'
import type { OperationId } from './http/operations/index.ts'
import { pageRoute } from './http/page-route.ts'
import * as schemas from './http/route-schemas.ts'
import { introspectEndpoint } from './introspect/endpoint.ts'
import { confirmSignInEndpoint } from './login/confirmation.ts'
import { enterCodeEndpoint, requestCodeEndpoint } from './login/email-code.ts'
import { loginEndpoint } from './login/endpoint.ts'
import { afterProviderLogoutEndpoint, confirmEndSessionEndpoint, endSessionEndpoint } from './logout/endpoint.ts'
import { serverMetadata } from './metadata/server-metadata.ts'
import type { Authenticate } from './model/caller.ts'
import { invitationEndpoint } from './organizations/invitation.ts'
import { membershipsEndpoint } from './organizations/memberships.ts'
import { passkeyScript, passkeyScriptText } from './pages/passkeys/form.ts'
import { pushEndpoint } from './par/endpoint.ts'
import { editPasskeyEndpoint } from './passkeys/edit.ts'
import { signInOptionsEndpoint } from './passkeys/options.ts'
import { passkeysEndpoint } from './passkeys/overview.ts'
import { removePasswordEndpoint } from './passkeys/password-removal.ts'
import { newPasskeyEndpoint } from './passkeys/registration.ts'
import { passkeySignInEndpoint } from './passkeys/sign-in.ts'
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
  if (context.features.passkeys) passkeyRoutes(http, context)
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
  const connection = Type.Object({ connection: Type.String({ description: 'The connection.' }) })
  const logout = route({ ...schemas.backChannelLogout, params: connection })
  http.post('/login/providers/:connection/logout', logout, backChannelLogoutEndpoint(context))
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
  const login = loginEndpoint(context, (exchange, entered) => sendToOrganization(context, exchange, entered))
  http.post('/login', carrying('loginPage.submit'), login)
  http.post('/login/organization', carrying('organizationSignInPage.submit'), signInWithOrganizationEndpoint(context))
  http.post('/login/factor', carrying('factorPage.submit'), factorSignInEndpoint(context))
  http.post('/login/enrol', carrying('enrolPage.submit'), enrolSignInEndpoint(context))
  http.post('/login/providers', carrying('providerPage.submit'), signInWithProviderEndpoint(context))
  const callback = '/login/providers/:connection/callback'
  const params = Type.Object({ connection: Type.String({ description: 'The connection.' }) })
  const callbackRoute = (id: OperationId) => ({ ...pageRoute(context), schema: { ...schemas.page(id), params } })
  http.get(callback, callbackRoute('providerPage.return'), providerCallbackEndpoint(context))
  http.post(callback, callbackRoute('providerPage.returnByForm'), providerCallbackEndpoint(context))
  http.get('/account/providers', route('accountProvidersPage.show'), accountProvidersEndpoint(context))
  http.post('/account/providers', route('accountProvidersPage.submit'), accountProvidersEndpoint(context))
  http.post('/login/code', carrying('emailCodePage.request'), requestCodeEndpoint(context))
  http.post('/login/code/confirm', carrying('emailCodePage.submit'), enterCodeEndpoint(context))
  http.post('/consent', carrying('consentPage.submit'), consentEndpoint(context))
  http.post('/organization', carrying('organizationPage.submit'), organizationEndpoint(context))
  http.get('/device', route('devicePage.show'), devicePageEndpoint(context))
  http.post('/device', route('devicePage.submit'), deviceCodeEndpoint(context))
  http.post('/device/decision', route('devicePage.decide'), deviceDecisionEndpoint(context))
  http.get('/end_session', route('logoutPage.show', schemas.logoutQuery), endSessionEndpoint(context))
  http.post('/end_session', route('logoutPage.submit'), endSessionEndpoint(context))
  http.get('/end_session/return', route('logoutPage.return', schemas.logoutState), afterProviderLogoutEndpoint(context))
  http.post('/end_session/confirm', route('logoutPage.confirm'), confirmEndSessionEndpoint(context))
  http.get('/account', route('accountPage.show'), accountEndpoint(context))
  http.post('/account/end', route('accountPage.end'), revokeAccessEndpoint(context))
  http.get('/account/factors', route('factorsPage.show'), factorsEndpoint(context))
  http.post('/account/factors', route('factorsPage.submit'), changeFactorsEndpoint(context))
  http.post('/account/sign-out', route('accountPage.signOut'), signOutEverywhereEndpoint(context))
  http.get('/account/data', route('accountPage.download'), downloadDataEndpoint(context))
  http.post('/account/email/confirm', route('emailPage.confirm'), confirmEmailEndpoint(context))
  for (const [path, page, endpoint, query] of [
    ['/account/factors/app', 'appPage', enrolAppEndpoint(context), undefined],
    ['/account/profile', 'profilePage', profileEndpoint(context), undefined],
    ['/account/email', 'emailPage', changeEmailEndpoint(context), undefined],
    ['/account/delete', 'deletionPage', deleteAccountEndpoint(context), undefined],
    ['/account/password', 'passwordPage', changePasswordEndpoint(context), undefined],
    ['/password/forgot', 'forgotPasswordPage', forgotPasswordEndpoint(context), undefined],
    ['/password/reset', 'resetPasswordPage', resetPasswordEndpoint(context), schemas.linkToken],
    ['/login/confirm', 'confirmSignInPage', confirmSignInEndpoint(context), schemas.linkToken],
    ['/email/verify', 'verifyEmailPage', verifyEmailEndpoint(context), schemas.linkToken],
    ['/account/organizations', 'membershipsPage', membershipsEndpoint(context), undefined],
    ['/invitation', 'invitationPage', invitationEndpoint(context), schemas.linkToken],
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
  logoRoute(http, context)
}

/** The logos of clients, each at the hash of its content. */
function logoRoute(http: Http, { store }: IdentityContext): void {
  const hash = Type.Object({ hash: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }) })
  http.get('/pages/logos/:hash', { schema: { ...schemas.hidden, params: hash } }, async ({ params }, reply) => {
    const logo = await store.clientLogos.find(params.hash)
    if (logo === undefined) return reply.callNotFound()
    return reply
      .header('cache-control', 'public, max-age=31536000, immutable')
      .header('content-security-policy', "default-src 'none'; sandbox")
      .type(logo.mediaType)
      .send(Buffer.from(logo.content))
  })
}

/** The pages of passkeys, and their script. */
function passkeyRoutes(http: Http, context: IdentityContext): void {
  const route = (id: OperationId) => ({ ...pageRoute(context), schema: schemas.page(id) })
  http.post('/login/passkey/options', route('passkeySignIn.start'), signInOptionsEndpoint(context))
  const bodyLimit = continuationBytes
  http.post('/login/passkey', { ...route('passkeySignIn.submit'), bodyLimit }, passkeySignInEndpoint(context))
  http.get('/account/passkeys', route('passkeysPage.show'), passkeysEndpoint(context))
  http.get('/account/passkeys/new', route('newPasskeyPage.show'), newPasskeyEndpoint(context))
  http.post('/account/passkeys/new', route('newPasskeyPage.submit'), newPasskeyEndpoint(context))
  http.get('/account/passkeys/edit', route('editPasskeyPage.show'), editPasskeyEndpoint(context))
  http.post('/account/passkeys/edit', route('editPasskeyPage.submit'), editPasskeyEndpoint(context))
  http.post('/account/passkeys/password', route('removePasswordPage.submit'), removePasswordEndpoint(context))
  http.get(`/pages/${passkeyScript}`, { schema: schemas.hidden }, (_request, reply) =>
    reply.header('cache-control', publicDocument).type('text/javascript; charset=utf-8').send(passkeyScriptText),
  )
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
