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
import { changePhoneEndpoint, confirmPhoneEndpoint } from './account/phone-change.ts'
import { profileEndpoint } from './account/profile.ts'
import { registerEndpoint } from './account/registration.ts'
import { confirmRegistrationEndpoint } from './account/registration-confirmation.ts'
import { consentEndpoint } from './authorize/consent-endpoint.ts'
import { authorizeEndpoint, continueEndpoint } from './authorize/endpoint.ts'
import { organizationEndpoint } from './authorize/organization-endpoint.ts'
import type { IdentityContext } from './context/context.ts'
import { deviceDecisionEndpoint } from './device/decision.ts'
import { deviceOrganizationEndpoint } from './device/organization.ts'
import { deviceCodeEndpoint, devicePageEndpoint } from './device/pages.ts'
import { enrolAppEndpoint } from './factors/app.ts'
import { changeFactorsEndpoint, factorsEndpoint } from './factors/overview.ts'
import { enrolSignInEndpoint, factorSignInEndpoint } from './factors/sign-in.ts'
import { accountProvidersEndpoint } from './federation/account-providers.ts'
import { providerCallbackEndpoint } from './federation/callback-endpoint.ts'
import {
  sendToOrganization,
  signInWithOrganizationEndpoint,
  signInWithProviderEndpoint,
} from './federation/sign-in-endpoint.ts'
import type { OperationId } from './http/operations/index.ts'
import { pageRoute } from './http/page-route.ts'
import * as schemas from './http/route-schemas.ts'
import { confirmSignInEndpoint } from './login/confirmation.ts'
import { enterCodeEndpoint, requestCodeEndpoint } from './login/email-code.ts'
import { loginEndpoint } from './login/endpoint.ts'
import { afterProviderLogoutEndpoint, confirmEndSessionEndpoint, endSessionEndpoint } from './logout/endpoint.ts'
import { invitationEndpoint } from './organizations/invitation.ts'
import { membershipsEndpoint } from './organizations/memberships.ts'
import { passkeyScript, passkeyScriptText } from './pages/passkeys/form.ts'
import { editPasskeyEndpoint } from './passkeys/edit.ts'
import { signInOptionsEndpoint } from './passkeys/options.ts'
import { passkeysEndpoint } from './passkeys/overview.ts'
import { removePasswordEndpoint } from './passkeys/password-removal.ts'
import { newPasskeyEndpoint } from './passkeys/registration.ts'
import { passkeySignInEndpoint } from './passkeys/sign-in.ts'
import { continuationBytes } from './sessions/resume.ts'

/** How long a browser may keep a script or a style sheet. */
const cacheControl = 'public, max-age=300'

/** Registers the pages that users see in a browser, and what they load. */
export function pageRoutes(http: Http, context: IdentityContext): void {
  signInPageRoutes(http, context)
  providerPageRoutes(http, context)
  decisionPageRoutes(http, context)
  logoutPageRoutes(http, context)
  accountPageRoutes(http, context)
  formPageRoutes(http, context)
  assetRoutes(http, context)
  if (context.features.passkeys) passkeyRoutes(http, context)
}

/** Options of a page's route; `carrying` is for forms that carry a request to be continued. */
function pageOptions(context: IdentityContext) {
  const route = (id: OperationId, query?: TSchema) => ({ ...pageRoute(context), schema: schemas.page(id, query) })
  const carrying = (id: OperationId) => ({ ...route(id), bodyLimit: continuationBytes })
  return { route, carrying }
}

/** The authorization endpoint and the steps of signing in with a password, a factor or a code. */
function signInPageRoutes(http: Http, context: IdentityContext): void {
  const { route, carrying } = pageOptions(context)
  http.get('/authorize', route('authorizePage.show', schemas.authorizeQuery), authorizeEndpoint(context))
  http.post('/authorize', route('authorizePage.submit'), authorizeEndpoint(context))
  http.get('/authorize/continue', route('authorizePage.resume'), continueEndpoint(context))
  http.post('/authorize/continue', carrying('authorizePage.resumeByForm'), continueEndpoint(context))
  const login = loginEndpoint(context, (exchange, entered) => sendToOrganization(context, exchange, entered))
  http.post('/login', carrying('loginPage.submit'), login)
  http.post('/login/organization', carrying('organizationSignInPage.submit'), signInWithOrganizationEndpoint(context))
  http.post('/login/factor', carrying('factorPage.submit'), factorSignInEndpoint(context))
  http.post('/login/enrol', carrying('enrolPage.submit'), enrolSignInEndpoint(context))
  http.post('/login/code', carrying('emailCodePage.request'), requestCodeEndpoint(context))
  http.post('/login/code/confirm', carrying('emailCodePage.submit'), enterCodeEndpoint(context))
}

/** Signing in with a provider, and the providers of an account. */
function providerPageRoutes(http: Http, context: IdentityContext): void {
  const { route, carrying } = pageOptions(context)
  http.post('/login/providers', carrying('providerPage.submit'), signInWithProviderEndpoint(context))
  const callback = '/login/providers/:connection/callback'
  const params = Type.Object({ connection: Type.String({ description: 'The connection.' }) })
  const callbackRoute = (id: OperationId) => ({ ...pageRoute(context), schema: { ...schemas.page(id), params } })
  http.get(callback, callbackRoute('providerPage.return'), providerCallbackEndpoint(context))
  http.post(callback, callbackRoute('providerPage.returnByForm'), providerCallbackEndpoint(context))
  http.get('/account/providers', route('accountProvidersPage.show'), accountProvidersEndpoint(context))
  http.post('/account/providers', route('accountProvidersPage.submit'), accountProvidersEndpoint(context))
}

/** What a user decides for a client: consent, the organization, and the same for a device. */
function decisionPageRoutes(http: Http, context: IdentityContext): void {
  const { route, carrying } = pageOptions(context)
  http.post('/consent', carrying('consentPage.submit'), consentEndpoint(context))
  http.post('/organization', carrying('organizationPage.submit'), organizationEndpoint(context))
  http.get('/device', route('devicePage.show'), devicePageEndpoint(context))
  http.post('/device', route('devicePage.submit'), deviceCodeEndpoint(context))
  http.post('/device/organization', route('deviceOrganizationPage.submit'), deviceOrganizationEndpoint(context))
  http.post('/device/decision', route('devicePage.decide'), deviceDecisionEndpoint(context))
}

/** RP-initiated logout. */
function logoutPageRoutes(http: Http, context: IdentityContext): void {
  const { route } = pageOptions(context)
  http.get('/end_session', route('logoutPage.show', schemas.logoutQuery), endSessionEndpoint(context))
  http.post('/end_session', route('logoutPage.submit'), endSessionEndpoint(context))
  http.get('/end_session/return', route('logoutPage.return', schemas.logoutState), afterProviderLogoutEndpoint(context))
  http.post('/end_session/confirm', route('logoutPage.confirm'), confirmEndSessionEndpoint(context))
}

/** The pages of a user's own account, beside those of {@link formPageRoutes}. */
function accountPageRoutes(http: Http, context: IdentityContext): void {
  const { route } = pageOptions(context)
  http.get('/account', route('accountPage.show'), accountEndpoint(context))
  http.post('/account/end', route('accountPage.end'), revokeAccessEndpoint(context))
  http.get('/account/factors', route('factorsPage.show'), factorsEndpoint(context))
  http.post('/account/factors', route('factorsPage.submit'), changeFactorsEndpoint(context))
  http.post('/account/sign-out', route('accountPage.signOut'), signOutEverywhereEndpoint(context))
  http.get('/account/data', route('accountPage.download'), downloadDataEndpoint(context))
  http.post('/account/email/confirm', route('emailPage.confirm'), confirmEmailEndpoint(context))
  http.get('/account/phone', route('phonePage.show'), changePhoneEndpoint(context))
  http.post('/account/phone', route('phonePage.submit'), changePhoneEndpoint(context))
  http.post('/account/phone/confirm', route('phonePage.confirm'), confirmPhoneEndpoint(context))
}

/** Pages with one form, which one endpoint both shows and takes. */
function formPageRoutes(http: Http, context: IdentityContext): void {
  const { route } = pageOptions(context)
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
}

/** The style sheet, the icon, the script and the logos of the pages. */
function assetRoutes(http: Http, context: IdentityContext): void {
  for (const [path, type, text] of [
    ['/pages/style.css', 'text/css; charset=utf-8', styleSheet(context.branding)],
    ['/pages/icon.svg', 'image/svg+xml', icon(context.branding)],
    ['/pages/submit.js', 'text/javascript; charset=utf-8', submitScript],
  ] as const) {
    http.get(path, { schema: schemas.hidden }, (_request, reply) =>
      reply.header('cache-control', cacheControl).type(type).send(text),
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
    reply.header('cache-control', cacheControl).type('text/javascript; charset=utf-8').send(passkeyScriptText),
  )
}
