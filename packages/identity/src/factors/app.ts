import { sendPage, type Texts, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FactorContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { methodsOf } from '../model/authentication.ts'
import { enrolPage } from '../pages/account/enrol-page.ts'
import { recoveryCodesPage } from '../pages/account/recovery-codes-page.ts'
import { PageError } from '../pages/page-error.ts'
import { checkForm, findPolicy, formToken, readBrowser } from '../sessions/browser.ts'
import { startSession } from '../sessions/finish-sign-in.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'
import { proveApp, type ShownSecret, showSecret, startEnrolment } from '../sessions/second-factor/enrolment.ts'
import type { BrowserExchange } from '../sessions/sign-in-page.ts'
import type { SignedIn } from '../store/index.ts'

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
    const proven = await proveApp(context, { ...exchange, user }, { enrolment, code: parameters.get('code') })
    if (proven === undefined)
      return sendEnrolment(context, exchange, texts, showSecret(context, user, enrolment), texts.say('enrol.wrong'))
    await raiseSession(context, exchange, { ...signedIn, user: proven.user })
    if (proven.codes === undefined) return reply.redirect('/account/factors', 303)
    const page = { codes: proven.codes, to: '/account/factors' }
    return sendPage(context, reply, texts, recoveryCodesPage(texts, page))
  }
}

/** The code that proved the app is a second factor of this session as well. @throws PageError 400 when it has ended */
async function raiseSession(
  context: FactorContext,
  exchange: BrowserExchange,
  { user, session }: SignedIn,
): Promise<void> {
  const amr = [...new Set([...session.amr, ...methodsOf.totp])]
  const raised = { user, amr, details: { amr }, authTime: session.authTime, isKnown: true }
  if ((await startSession(context, exchange, raised)) === undefined) throw new PageError(400, 'error.stale')
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
