import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { Parts } from '../context/context.ts'
import { pageParameters } from '../http/page-route.ts'
import type { GrantRecord } from '../model/grant.ts'
import { revocationTimes } from '../model/revocation-times.ts'
import { claimsCoveredBy } from '../model/user.ts'
import { accountPage } from '../pages/account-page.ts'
import { type Browser, checkForm, forgetSession, formToken, readBrowser } from '../sessions/browser.ts'
import { endSession } from '../sessions/end-session.ts'
import { signInFirst } from '../sessions/require-sign-in.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** GET /account: connected apps, sessions and API keys. */
export function accountEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    const browser = await readBrowser(parts, request, reply)
    if (browser.signedIn === undefined) return signInFirst(parts, request, reply, browser, '/account')
    const { user, session } = browser.signedIn
    const now = parts.clock.now()
    const sessions = await parts.store.sessions.ofUser(user.id, now)
    const texts = textsFor(parts, request)
    const page = accountPage(texts, {
      formToken: formToken(parts, browser),
      user: user.email ?? user.username,
      apps: await appsOf(parts, user.id, now),
      sessions: sessions.map((one) => ({ ...one, current: one.id === session.id })),
      apiKeys: await parts.store.apiKeys.ofOwner(user.id, now),
    })
    return sendPage(parts, reply, texts, page)
  }
}

/** Each client once, with all it may do: what was remembered, and what lives on some device. */
async function appsOf(parts: Parts, userId: string, now: number) {
  const consents = await parts.store.consents.ofUser(userId)
  const grants = Map.groupBy(await parts.store.grants.ofUser(userId, now), (grant) => grant.clientId)
  const ids = new Set([...consents.map((one) => one.clientId), ...grants.keys()])
  return Promise.all(
    [...ids].map(async (clientId) => {
      const live: readonly GrantRecord[] = grants.get(clientId) ?? []
      const consent = consents.find((one) => one.clientId === clientId)
      const name = (await parts.clients.find(clientId))?.name ?? clientId
      const scopes = [...new Set([...(consent?.scopes ?? []), ...live.flatMap((grant) => grant.scopes)])]
      const named = live.flatMap((grant) => [...grant.claims.userinfo, ...grant.claims.idToken])
      const covered = claimsCoveredBy(scopes)
      const claims = [...new Set([...(consent?.claims ?? []), ...named])].filter((claim) => !covered.has(claim))
      const since = Math.min(consent?.grantedAt ?? now, ...live.map((grant) => grant.createdAt))
      return { clientId, name, scopes, claims, since }
    }),
  )
}

/** POST /account/end: ends an app's access, a session or an API key. */
export function endEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const browser = await readBrowser(parts, request, reply)
    checkForm(parts, request, browser, parameters)
    if (browser.signedIn === undefined) return signInFirst(parts, request, reply, browser, '/account')
    const { user } = browser.signedIn
    const clientId = parameters.get('client_id')
    const sessionId = parameters.get('session_id')
    if (clientId !== undefined) {
      const ended = await parts.store.grants.withdraw(user.id, clientId, revocationTimes(parts))
      const details = { grants: ended.length }
      await audit(parts, request, 'consent_withdrawn', { actor: user.id, subject: user.id, clientId, details })
    }
    const keyId = parameters.get('api_key_id')
    if (keyId !== undefined) await endApiKey(parts, request, user.id, keyId)
    if (sessionId !== undefined) await endOne(parts, request, reply, browser.signedIn, sessionId)
    return reply.redirect('/account', 303)
  }
}

async function endApiKey(parts: Parts, request: FastifyRequest, userId: string, id: string): Promise<void> {
  if (!uuid.test(id) || !(await parts.store.apiKeys.endOf(userId, id))) return
  await audit(parts, request, 'api_key_ended', { actor: userId, subject: userId, details: { api_key: id } })
}

async function endOne(
  parts: Parts,
  request: FastifyRequest,
  reply: FastifyReply,
  { user, session }: NonNullable<Browser['signedIn']>,
  sessionId: string,
): Promise<void> {
  if (!uuid.test(sessionId) || !(await endSession(parts, sessionId, user.id))) return
  await audit(parts, request, 'session_ended', { actor: user.id, subject: user.id, details: { sid: sessionId } })
  if (sessionId === session.id) forgetSession(parts, reply)
}
