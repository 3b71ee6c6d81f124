import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Parts } from '../context/context.ts'
import type { Form } from '../oauth/parameters.ts'
import { loginPage } from '../pages/login-page.ts'
import { type Browser, formToken } from './browser.ts'
import { type Continuation, sealContinuation } from './continuation.ts'

/** Shows the login page on the way to a page of our own. */
export function signInFirst(
  parts: Parts,
  request: FastifyRequest,
  reply: FastifyReply,
  browser: Browser,
  to: Continuation['to'],
  form: Form = {},
): FastifyReply {
  const texts = textsFor(parts, request)
  const page = loginPage(texts, {
    formToken: formToken(parts, browser),
    continuation: sealContinuation(parts, browser, { to, request: form, startedAt: parts.clock.now() }),
    mayReset: parts.features.passwordReset,
    mayRegister: parts.features.registration,
  })
  return sendPage(parts, reply, texts, page)
}
