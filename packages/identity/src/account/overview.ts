import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { OverviewContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { revocationTimes } from '../model/grants/revocation-times.ts'
import { claimsCoveredBy, type User } from '../model/user.ts'
import { accountPage } from '../pages/account/account-page.ts'
import { listSecurityPages } from '../pages/account/links.ts'
import type { ShownProfile } from '../pages/account/profile.ts'
import { type Browser, checkForm, clearSessionCookie, findPolicy, formToken, readBrowser } from '../sessions/browser.ts'
import { endSession } from '../sessions/end-session.ts'
import { sendSignInPage } from '../sessions/sign-in-page.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** GET /account: profile, sessions, connected apps and API keys. */
export function accountEndpoint(context: OverviewContext): Handler {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    if (browser.signedIn === undefined) return sendSignInPage(context, { request, reply, browser }, '/account')
    const { user, session, factors } = browser.signedIn
    const now = context.clock.now()
    const sessions = await context.store.sessions.listByUser(user.id, now)
    const texts = textsFor(context, request)
    const page = accountPage(texts, {
      formToken: formToken(context, browser),
      user: user.email ?? user.username,
      profile: shownProfile(context, user),
      securityPages: listSecurityPages({
        hasPassword: user.passwordHash !== undefined,
        passkeys: context.features.passkeys,
        factors: factors.length > 0 || (await findPolicy(context, user.id)) !== 'off',
        providers: context.connections.listForLinking().length > 0,
        organizations: (await context.store.memberships.listByUser(user.id, 1)).length > 0,
      }),
      apps: await listApps(context, user.id, now),
      sessions: sessions.map((one) => ({ ...one, current: one.id === session.id })),
      apiKeys: await context.store.apiKeys.listByOwner(user.id, now),
    })
    return sendPage(context, reply, texts, page)
  }
}

function shownProfile({ mail, sms }: OverviewContext, user: User): ShownProfile {
  const { username, email, emailVerified, claims } = user
  const text = (name: string) => (typeof claims[name] === 'string' ? claims[name] : undefined)
  return {
    username,
    name: text('name'),
    email,
    emailVerified,
    phoneNumber: text('phone_number'),
    isPhoneNumberVerified: claims.phone_number_verified === true,
    mayChangeEmail: mail,
    mayChangePhoneNumber: sms,
  }
}

/** Each client once, with its stored consents and its active grants. */
async function listApps(context: OverviewContext, userId: string, now: number) {
  const consents = await context.store.consents.listByUser(userId)
  const grants = Map.groupBy(await context.store.grants.listByUser(userId, now), (grant) => grant.clientId)
  const ids = new Set([...consents.map((one) => one.clientId), ...grants.keys()])
  return Promise.all(
    [...ids].map(async (clientId) => {
      const live = grants.get(clientId) ?? []
      const consent = consents.find((one) => one.clientId === clientId)
      const name = (await context.clients.find(clientId))?.name ?? clientId
      const scopes = [...new Set([...(consent?.scopes ?? []), ...live.flatMap((grant) => grant.scopes)])]
      const named = live.flatMap((grant) => [...grant.claims.userinfo, ...grant.claims.idToken])
      const covered = claimsCoveredBy(scopes)
      const claims = [...new Set([...(consent?.claims ?? []), ...named])].filter((claim) => !covered.has(claim))
      const since = Math.min(consent?.grantedAt ?? now, ...live.map((grant) => grant.createdAt))
      return { clientId, name, scopes, claims, since, grants: live }
    }),
  )
}

/** POST /account/end: ends an app's access, a session or an API key. */
export function revokeAccessEndpoint(context: OverviewContext): Handler {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const browser = await readBrowser(context, request, reply)
    checkForm(context, request, browser, parameters)
    if (browser.signedIn === undefined) return sendSignInPage(context, { request, reply, browser }, '/account')
    const { user } = browser.signedIn
    const clientId = parameters.get('client_id')
    const sessionId = parameters.get('session_id')
    if (clientId !== undefined) {
      const ended = await context.store.grants.withdraw(user.id, clientId, revocationTimes(context))
      const details = { grants: ended.length }
      await audit(context, request, 'consent_withdrawn', { actor: user.id, subject: user.id, clientId, details })
    }
    const keyId = parameters.get('api_key_id')
    if (keyId !== undefined) await removeApiKey(context, request, user.id, keyId)
    if (sessionId !== undefined)
      await endSessionById(context, { request, reply, signedIn: browser.signedIn }, sessionId)
    return reply.redirect('/account', 303)
  }
}

async function removeApiKey(
  context: OverviewContext,
  request: FastifyRequest,
  userId: string,
  id: string,
): Promise<void> {
  if (!uuid.test(id) || !(await context.store.apiKeys.removeByOwner(userId, id))) return
  await audit(context, request, 'api_key_ended', { actor: userId, subject: userId, details: { api_key: id } })
}

interface SignedInExchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly signedIn: NonNullable<Browser['signedIn']>
}

async function endSessionById(
  context: OverviewContext,
  { request, reply, signedIn: { user, session } }: SignedInExchange,
  sessionId: string,
): Promise<void> {
  if (!uuid.test(sessionId) || !(await endSession(context, sessionId, user.id))) return
  await audit(context, request, 'session_ended', { actor: user.id, subject: user.id, details: { sid: sessionId } })
  if (sessionId === session.id) clearSessionCookie(context, reply)
}
