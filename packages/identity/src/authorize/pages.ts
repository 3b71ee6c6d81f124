import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply } from 'fastify'
import type { AuthorizeContext } from '../context/features.ts'
import type { FactorStep } from '../model/factors/second-factor.ts'
import { withoutOwnApi } from '../model/grants/consent.ts'
import type { Membership } from '../model/organization.ts'
import type { AuthorizationRequest } from '../oauth/authorization-request.ts'
import { isNativeRedirect, originOf } from '../oauth/redirect-uri.ts'
import { consentPage } from '../pages/consent-page.ts'
import { loginPage } from '../pages/sign-in/login-page.ts'
import { organizationPage } from '../pages/sign-in/organization-page.ts'
import { type Browser, formToken } from '../sessions/browser.ts'
import { type Continuation, sealContinuation } from '../sessions/continuation.ts'
import { beginFactorStep } from '../sessions/second-factor/factor-pages.ts'
import { signInChoices } from '../sessions/sign-in-page.ts'
import { readAccess } from './access.ts'
import type { AuthorizationTransaction } from './transaction.ts'

/** Asks the user to sign in; only a sign-in from `since` on (Unix milliseconds) counts. `name` fills the form. */
export function sendLoginPage(
  context: AuthorizeContext,
  transaction: AuthorizationTransaction,
  authorization: AuthorizationRequest,
  { since, name }: { readonly since: number; readonly name?: string | undefined },
): FastifyReply {
  const texts = textsFor(context, transaction.request, authorization.uiLocales)
  const page = loginPage(texts, {
    formToken: formToken(context, transaction.browser),
    continuation: sealTransaction(context, transaction, authorization, { startedAt: since }),
    client: transaction.client.name,
    name,
    ...signInChoices(context),
    formTargets: [originOf(authorization.redirectUri)],
  })
  return sendPage(context, transaction.reply, texts, page)
}

/** Asks the signed-in user for a second factor, or to enrol one, and resumes the request with the session raised. */
export function sendFactorStep(
  context: AuthorizeContext,
  transaction: AuthorizationTransaction,
  authorization: AuthorizationRequest,
  { step, signedIn }: { readonly step: FactorStep; readonly signedIn: NonNullable<Browser['signedIn']> },
): FastifyReply {
  const { session, user, factors } = signedIn
  const startedAt = transaction.waitingSince ?? context.clock.now()
  return beginFactorStep(context, transaction, step, {
    user,
    factors,
    proven: { amr: session.amr, details: { client: transaction.client.id }, raises: session.id },
    continuation: sealTransaction(context, transaction, authorization, { startedAt }),
  })
}

/** Asks the signed-in user whether the client may have the access. */
export async function sendConsentPage(
  context: AuthorizeContext,
  transaction: AuthorizationTransaction,
  authorization: AuthorizationRequest,
  { user, session }: NonNullable<Browser['signedIn']>,
): Promise<FastifyReply> {
  const texts = textsFor(context, transaction.request, authorization.uiLocales)
  const { client, redirectUri, membership } = authorization
  const startedAt = transaction.waitingSince ?? context.clock.now()
  const access = readAccess(context, authorization)
  const page = consentPage(texts, {
    formToken: formToken(context, transaction.browser),
    continuation: sealTransaction(context, transaction, authorization, {
      startedAt,
      consentIn: session.id,
      shown: access,
      organization: membership?.organization.id,
    }),
    organization: membership?.organization.name,
    client: client.name,
    user: user.email ?? user.username,
    access: withoutOwnApi(context, access),
    host: isNativeRedirect(redirectUri) ? undefined : URL.parse(redirectUri)?.host,
    publisher: client.publisher,
    logo: client.logoUri && (await context.store.clientLogos.findHash(client.id, client.logoUri)),
    clientUri: client.clientUri,
    policyUri: client.policyUri,
    tosUri: client.tosUri,
    formTargets: [originOf(redirectUri)],
  })
  return sendPage(context, transaction.reply, texts, page)
}

/** Asks the signed-in user for which organization the client signs in. */
export function sendOrganizationPage(
  context: AuthorizeContext,
  transaction: AuthorizationTransaction,
  authorization: AuthorizationRequest,
  { user, session, memberships }: NonNullable<Browser['signedIn']> & { readonly memberships: readonly Membership[] },
): FastifyReply {
  const texts = textsFor(context, transaction.request, authorization.uiLocales)
  const startedAt = transaction.waitingSince ?? context.clock.now()
  const page = organizationPage(texts, {
    action: '/organization',
    formToken: formToken(context, transaction.browser),
    continuation: sealTransaction(context, transaction, authorization, { startedAt, consentIn: session.id }),
    client: authorization.client.name,
    user: user.email ?? user.username,
    organizations: memberships.map(({ organization }) => organization),
    formTargets: [originOf(authorization.redirectUri)],
  })
  return sendPage(context, transaction.reply, texts, page)
}

function sealTransaction(
  context: AuthorizeContext,
  { browser, parameters, pushed }: AuthorizationTransaction,
  { client, redirectUri }: AuthorizationRequest,
  stage: Pick<Continuation, 'startedAt' | 'consentIn' | 'shown' | 'organization'>,
): string {
  return sealContinuation(context, browser, {
    to: '/authorize/continue',
    request: parameters.form,
    pushed,
    client: client.name,
    target: originOf(redirectUri),
    ...stage,
  })
}
