import { sendPage, type Texts, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FactorContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { enrolPage } from '../pages/account/enrol-page.ts'
import { recoveryCodesPage } from '../pages/account/recovery-codes-page.ts'
import { PageError } from '../pages/page-error.ts'
import { checkForm, findPolicy, formToken, readBrowser } from '../sessions/browser.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'
import { proveApp, type ShownSecret, showSecret, startEnrolment } from '../sessions/second-factor/enrolment.ts'
import type { BrowserExchange } from '../sessions/sign-in-page.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

const path = '/account/factors/app'

/** GET and POST /account/factors/app: sets up an authenticator app, which replaces the one before. */
export function enrolAppEndpoint(context: FactorContext): Handler {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    const exchange = { request, reply, browser }
    const parameters = pageParameters(request)
    if (request.method === 'POST') checkForm(context, request, browser, parameters)
    const recent = requireRecentSignIn(context, exchange, path)
    if ('sent' in recent) return recent.sent
    const { signedIn } = recent
    const { user, factors } = signedIn
    if (factors.length === 0 && (await findPolicy(context, user.id)) === 'off')
      throw new PageError(404, 'error.missing')
    const texts = textsFor(context, request)
    if (request.method === 'GET') {
      return sendEnrolment(context, exchange, texts, startEnrolment(context, browser, user))
    }
    const enrolment = parameters.getRequired('enrolment')
    const proof = { enrolment, code: parameters.get('code') }
    const proven = await proveApp(context, { ...exchange, user }, proof, { raises: signedIn.session })
    if (proven === undefined)
      return sendEnrolment(context, exchange, texts, showSecret(context, user, enrolment), texts.say('enrol.wrong'))
    if (proven.codes === undefined) return reply.redirect('/account/factors', 303)
    const page = { codes: proven.codes, to: '/account/factors' }
    return sendPage(context, reply, texts, recoveryCodesPage(texts, page))
  }
}

function sendEnrolment(
  context: FactorContext,
  { reply, browser }: BrowserExchange,
  texts: Texts,
  shown: ShownSecret,
  wrong?: string,
): FastifyReply {
  const page = { ...shown, action: path, formToken: formToken(context, browser), wrong }
  return sendPage(context, reply, texts, enrolPage(texts, { ...page, status: wrong === undefined ? 200 : 400 }))
}
