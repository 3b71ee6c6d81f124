import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { OverviewContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createNotices } from '../mail/notices.ts'
import { checkForm, clearSessionCookie, keepKnownDevice, readBrowser, setSessionCookie } from '../sessions/browser.ts'
import { signOutOptions } from '../sessions/end-session.ts'
import { keepWithNewCookie } from '../sessions/kept-session.ts'
import { sendSignInPage } from '../sessions/sign-in-page.ts'

/**
 * POST /account/sign-out: ends every session, mailed link and grant of an app; `scope` says whether this browser stays
 * signed in (`others`), with a new cookie, or not (`all`).
 */
export function signOutEverywhereEndpoint(
  context: OverviewContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const browser = await readBrowser(context, request, reply)
    checkForm(context, request, browser, parameters)
    if (browser.signedIn === undefined) return sendSignInPage(context, { request, reply, browser }, '/account')
    const { user, session } = browser.signedIn
    const stays = parameters.get('scope') !== 'all'
    const messages = createNotices(context, { user, kind: 'signed_out_everywhere', request })
    const kept = stays ? keepWithNewCookie(session) : undefined
    const everywhere = { userId: user.id, keepSession: kept?.keepSession, messages }
    await context.store.accounts.signOutEverywhere(everywhere, signOutOptions(context))
    context.signalOutbox()
    const details = { this_browser: !stays }
    await audit(context, request, 'signed_out_everywhere', { actor: user.id, subject: user.id, details })
    const current = kept && (await context.store.users.find(user.id))
    if (kept === undefined || current === undefined) clearSessionCookie(context, reply)
    else {
      setSessionCookie(context, reply, kept.secret)
      keepKnownDevice(context, reply, current)
    }
    return reply.redirect('/account', 303)
  }
}
