import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PageContext } from '../context/context.ts'
import type { Form } from '../oauth/parameters.ts'
import { loginPage } from '../pages/login-page.ts'
import { type Browser, formToken } from './browser.ts'
import { type Continuation, sealContinuation } from './continuation.ts'

/** Shows the login page on the way to a page of our own. */
export function requireSignIn(
  context: PageContext,
  request: FastifyRequest,
  reply: FastifyReply,
  browser: Browser,
  to: Continuation['to'],
  form: Form = {},
): FastifyReply {
  const texts = textsFor(context, request)
  const page = loginPage(texts, {
    formToken: formToken(context, browser),
    continuation: sealContinuation(context, browser, { to, request: form, startedAt: context.clock.now() }),
    mayReset: context.features.passwordReset,
    mayRegister: context.features.registration,
  })
  return sendPage(context, reply, texts, page)
}
