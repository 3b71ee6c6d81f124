import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PageContext } from '../context/context.ts'
import type { Form } from '../oauth/parameters.ts'
import { type LoginPage, loginPage } from '../pages/login-page.ts'
import { type Browser, formToken } from './browser.ts'
import { type Continuation, sealContinuation } from './continuation.ts'

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
