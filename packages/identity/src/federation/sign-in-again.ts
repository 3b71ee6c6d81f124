import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply } from 'fastify'
import type { FederationContext } from '../context/features.ts'
import { loginPage } from '../pages/login-page.ts'
import { PageError, signInNext } from '../pages/page-error.ts'
import { formToken } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { type BrowserExchange, signInChoices } from '../sessions/sign-in-page.ts'

/** Why a sign-in with a provider did not happen, as the sign-in page says it. */
export interface ProviderFailure {
  /** The key of the text. */
  readonly wrong: string
  readonly values: Readonly<Record<string, string>>
  readonly status: number
  /** The name to fill in. */
  readonly name?: string
}

/** Sends the sign-in page again, which resumes what the browser was doing. */
export function sendSignInPageAgain(
  context: FederationContext,
  { request, reply, browser }: BrowserExchange,
  sealed: string,
  { wrong, values, status, name }: ProviderFailure,
): FastifyReply {
  const { client, target, request: form } = openContinuation(context, browser, sealed)
  const texts = textsFor(context, request, String(form.ui_locales ?? ''))
  const page = loginPage(texts, {
    formToken: formToken(context, browser),
    continuation: sealed,
    client,
    name,
    formTargets: target === undefined ? [] : [target],
    wrong: texts.say(wrong, values),
    status,
    ...signInChoices(context),
  })
  return sendPage(context, reply, texts, page)
}

/** The one page of every response of a provider that is not accepted: it says nothing about the cause. */
export function providerFailed(): PageError {
  return new PageError(400, 'provider.failed', {}, signInNext)
}
