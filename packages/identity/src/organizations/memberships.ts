import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { PageContext } from '../context/context.ts'
import { pageParameters } from '../http/page-route.ts'
import { createNotices } from '../mail/notices.ts'
import { revocationTimes } from '../model/grants/revocation-times.ts'
import type { User } from '../model/user.ts'
import { membershipsPage } from '../pages/account/memberships-page.ts'
import { type Browser, checkForm, formToken, readBrowser } from '../sessions/browser.ts'
import { type BrowserExchange, sendSignInPage } from '../sessions/sign-in-page.ts'

const maxListed = 500

/** GET and POST /account/organizations: the user's organizations, each of which the user may leave. */
export function membershipsEndpoint(
  context: PageContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    const exchange = { request, reply, browser }
    const parameters = pageParameters(request)
    if (request.method === 'POST') checkForm(context, request, browser, parameters)
    const { signedIn } = browser
    if (signedIn === undefined) return sendSignInPage(context, exchange, '/account/organizations')
    const organizationId = request.method === 'POST' ? parameters.get('organization') : undefined
    if (organizationId === undefined) return sendMemberships(context, exchange, signedIn)
    const left = await leaveOrganization(context, request, organizationId, signedIn.user)
    if (!left) return sendMemberships(context, exchange, signedIn, 'organizations.last')
    return reply.redirect('/account/organizations', 303)
  }
}

/** Ends the membership of the user and their tokens for the organization. False for the last owner, who stays. */
async function leaveOrganization(
  context: PageContext,
  request: FastifyRequest,
  organizationId: string,
  user: User,
): Promise<boolean> {
  const organization = await context.store.organizations.find(organizationId)
  const facts = { organization: organization?.name ?? '' }
  const messages = createNotices(context, { user, kind: 'organization_left', request, facts })
  const member = { organizationId, userId: user.id, expected: undefined, messages }
  const result = await context.store.memberships.remove(member, revocationTimes(context))
  if (result === 'changed') {
    context.signalOutbox()
    const details = { organization: organizationId }
    await audit(context, request, 'organization_left', { actor: user.id, subject: user.id, details })
  }
  return result !== 'last_owner'
}

async function sendMemberships(
  context: PageContext,
  { request, reply, browser }: BrowserExchange,
  { user }: NonNullable<Browser['signedIn']>,
  wrong?: string,
): Promise<FastifyReply> {
  const texts = textsFor(context, request)
  const memberships = await context.store.memberships.listByUser(user.id, maxListed)
  const page = membershipsPage(texts, {
    formToken: formToken(context, browser),
    user: user.email ?? user.username,
    organizations: memberships.map(({ organization, roles }) => ({ ...organization, roles })),
    wrong,
  })
  return sendPage(context, reply, texts, page)
}
