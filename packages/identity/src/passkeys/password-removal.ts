import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { findRequiredConnection } from '../connections/home.ts'
import type { PasskeyContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createNotices } from '../mail/notices.ts'
import { messagePage } from '../pages/error-page.ts'
import { PageError } from '../pages/page-error.ts'
import { checkForm, keepKnownDevice, readBrowser, setSessionCookie } from '../sessions/browser.ts'
import { signOutOptions } from '../sessions/end-session.ts'
import { keepWithNewCookie } from '../sessions/kept-session.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'

const next = { href: '/account/passkeys', text: 'back' }

/** POST /account/passkeys/password: removes the password of a user who has a passkey and signed in a moment ago. */
export function removePasswordEndpoint(
  context: PasskeyContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    checkForm(context, request, browser, pageParameters(request))
    const recent = requireRecentSignIn(context, { request, reply, browser }, '/account/passkeys')
    if ('sent' in recent) return recent.sent
    const { user, session } = recent.signedIn
    const messages = createNotices(context, { user, kind: 'factor_removed', request, facts: { factor: 'password' } })
    const required = await findRequiredConnection(context, user.email)
    const { keepSession, secret } = keepWithNewCookie(session)
    const proof = { userId: user.id, verified: user.credentialVersion, keepSession }
    const removal = { ...proof, required, messages }
    const removed = await context.store.accounts.removePassword(removal, signOutOptions(context))
    if (removed === 'last_way') throw new PageError(409, 'passkeys.password.last', {}, next)
    if (removed === 'outdated') throw new PageError(400, 'error.stale')
    setSessionCookie(context, reply, secret)
    context.signalOutbox()
    await audit(context, request, 'password_removed', { actor: user.id, subject: user.id })
    const changed = await context.store.users.find(user.id)
    if (changed !== undefined) keepKnownDevice(context, reply, changed)
    const texts = textsFor(context, request)
    return sendPage(context, reply, texts, messagePage(texts, 'passkeys.password.done', { next }))
  }
}
