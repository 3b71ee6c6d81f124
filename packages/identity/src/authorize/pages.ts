import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply } from 'fastify'
import type { Parts } from '../context/context.ts'
import { onPage } from '../model/consent.ts'
import type { AuthorizationRequest } from '../oauth/authorization-request.ts'
import { isNativeRedirect, originOf } from '../oauth/redirect-uri.ts'
import { consentPage } from '../pages/consent-page.ts'
import { loginPage } from '../pages/login-page.ts'
import { type Browser, formToken } from '../sessions/browser.ts'
import { type Continuation, sealContinuation } from '../sessions/continuation.ts'
import { accessOf } from './access.ts'
import type { Proceeding } from './transaction.ts'

/** Asks who is there; only a login from `since` on counts as the answer. */
export function askLogin(
  parts: Parts,
  at: Proceeding,
  asked: AuthorizationRequest,
  since: number,
  name?: string,
): FastifyReply {
  const texts = textsFor(parts, at.request, asked.uiLocales)
  const page = loginPage(texts, {
    formToken: formToken(parts, at.browser),
    continuation: sealed(parts, at, asked, { startedAt: since }),
    client: at.client.name,
    name,
    mayReset: parts.features.passwordReset,
    mayRegister: parts.features.registration,
    formTargets: [originOf(asked.redirectUri)],
  })
  return sendPage(parts, at.reply, texts, page)
}

/** Asks the user who is signed in whether the client may. */
export function askConsent(
  parts: Parts,
  at: Proceeding,
  asked: AuthorizationRequest,
  { user, session }: NonNullable<Browser['signedIn']>,
): FastifyReply {
  const texts = textsFor(parts, at.request, asked.uiLocales)
  const { client, redirectUri } = asked
  const startedAt = at.waitingSince ?? parts.clock.now()
  const shown = accessOf(parts, asked)
  const page = consentPage(texts, {
    formToken: formToken(parts, at.browser),
    continuation: sealed(parts, at, asked, { startedAt, consentIn: session.id, shown }),
    client: client.name,
    user: user.email ?? user.username,
    access: onPage(parts, shown),
    host: isNativeRedirect(redirectUri) ? undefined : URL.parse(redirectUri)?.host,
    policyUri: client.policyUri,
    tosUri: client.tosUri,
    formTargets: [originOf(redirectUri)],
  })
  return sendPage(parts, at.reply, texts, page)
}

function sealed(
  parts: Parts,
  { browser, parameters, pushed }: Proceeding,
  { client, redirectUri }: AuthorizationRequest,
  stage: Pick<Continuation, 'startedAt' | 'consentIn' | 'shown'>,
): string {
  return sealContinuation(parts, browser, {
    to: '/authorize/continue',
    request: parameters.form,
    pushed,
    client: client.name,
    target: originOf(redirectUri),
    ...stage,
  })
}
