import { tokenHash } from '@gatehouse/kit'
import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { InvitationContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createNotices } from '../mail/notices.ts'
import { mayAssignRoles } from '../model/organization.ts'
import type { User } from '../model/user.ts'
import { messagePage } from '../pages/error-page.ts'
import { formPage } from '../pages/form-page.ts'
import { PageError } from '../pages/page-error.ts'
import { checkForm, formToken, readBrowser } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { sendSignInPage } from '../sessions/sign-in-page.ts'

const accountNext = { href: '/account', text: 'back' }
const organizationsNext = { href: '/account/organizations', text: 'organizations.title' }

/**
 * GET and POST /invitation: a user who is signed in with the invited, verified address accepts an invitation. Any other
 * user gets the page of an invalid link, because who was invited is nobody else's business.
 */
export function invitationEndpoint(
  context: InvitationContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const browser = await readBrowser(context, request, reply)
    const sealed = parameters.get('continuation')
    const resumed = sealed === undefined ? undefined : openContinuation(context, browser, sealed)
    const token = String(resumed?.to === '/invitation' ? resumed.request.token : (parameters.get('token') ?? ''))
    if (browser.signedIn === undefined) {
      return sendSignInPage(context, { request, reply, browser }, '/invitation', { token })
    }
    const { user } = browser.signedIn
    const texts = textsFor(context, request)
    const { invitations } = context.store
    const now = context.clock.now()
    if (request.method === 'GET' || resumed !== undefined) {
      const found = await invitations.find(tokenHash(token), user.id, mayAssignRoles, now)
      if (found === undefined) return rejectInvitation(context, request, token, user)
      const values = { organization: found.organizationName, user: user.email ?? user.username }
      const form = { key: 'invitation', action: '/invitation', formToken: formToken(context, browser), fields: [] }
      return sendPage(context, reply, texts, formPage(texts, { ...form, hidden: { token }, values, back: accountNext }))
    }
    checkForm(context, request, browser, parameters)
    const attempt = { hash: tokenHash(token), userId: user.id, now }
    const named = await invitations.find(attempt.hash, user.id, mayAssignRoles, now)
    const facts = { organization: named?.organizationName ?? '', roles: named?.roles.join(', ') ?? '' }
    const notices = createNotices(context, { user, kind: 'organization_joined', request, facts })
    const accepted = named && (await invitations.accept(attempt, mayAssignRoles, notices))
    if (accepted === undefined) return rejectInvitation(context, request, token, user)
    context.signalOutbox()
    const details = { organization: accepted.organizationId, invitation: accepted.id, roles: accepted.roles }
    await audit(context, request, 'organization_joined', { actor: user.id, subject: user.id, details })
    const values = { organization: accepted.organizationName }
    return sendPage(context, reply, texts, messagePage(texts, 'invitation.done', { values, next: organizationsNext }))
  }
}

/** The user of the account that opened an invitation to somebody else learns of it by mail. */
async function rejectInvitation(
  context: InvitationContext,
  request: FastifyRequest,
  token: string,
  user: User,
): Promise<never> {
  const found = await context.store.invitations.findMailed(tokenHash(token), context.clock.now())
  if (found !== undefined && found.email !== user.email?.toLowerCase()) {
    const facts = { organization: found.organizationName }
    await context.store.outbox.put(createNotices(context, { user, kind: 'invitation_not_yours', request, facts }))
    context.signalOutbox()
  }
  throw new PageError(400, 'invitation.invalid', {}, { href: '/end_session', text: 'account.signout' })
}
