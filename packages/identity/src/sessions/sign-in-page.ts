import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PageContext } from '../context/context.ts'
import type { Form } from '../oauth/parameters.ts'
import { type LoginPage, loginPage } from '../pages/sign-in/login-page.ts'
import { type Browser, formToken } from './browser.ts'
import { type Continuation, openContinuation, sealContinuation } from './continuation.ts'

/** A request whose browser is known, and its reply. */
export interface BrowserExchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly browser: Browser
}

/** What the login page offers beside name and password. */
export function signInChoices({
  features,
  connections,
}: Pick<PageContext, 'features' | 'connections'>): Pick<
  LoginPage,
  'mayReset' | 'mayRegister' | 'mayUseCode' | 'passkeys' | 'providers' | 'organizations'
> {
  return {
    mayReset: features.passwordReset,
    mayRegister: features.registration,
    mayUseCode: features.emailCode,
    passkeys: features.passkeys,
    providers: connections.listForSignIn(),
    organizations: connections.hasHomes(),
  }
}

/** Sends the login page in place of the page `to`, which the browser resumes with `form` after the sign-in. */
export function sendSignInPage(
  context: PageContext,
  { request, reply, browser }: BrowserExchange,
  to: Continuation['to'],
  form: Form = {},
): FastifyReply {
  const texts = textsFor(context, request)
  const page = loginPage(texts, {
    formToken: formToken(context, browser),
    continuation: sealContinuation(context, browser, { to, request: form, startedAt: context.clock.now() }),
    ...signInChoices(context),
  })
  return sendPage(context, reply, texts, page)
}

/** Why a sign-in did not happen, as the sign-in page says it. */
export interface SignInFailure {
  /** The key of the text. */
  readonly wrong: string
  readonly values: Readonly<Record<string, string>>
  readonly status: number
  /** The name to fill in. */
  readonly name?: string
}

/** Sends the sign-in page again, which resumes what the browser was doing. */
export function sendSignInPageAgain(
  context: PageContext,
  { request, reply, browser }: BrowserExchange,
  sealed: string,
  { wrong, values, status, name }: SignInFailure,
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
