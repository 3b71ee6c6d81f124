import { Problem, randomToken, tokenHash } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ConsoleContext } from '../context.ts'
import { basePath, formatCookie, readCookie } from '../cookies.ts'
import type { SignedIn } from '../provider/provider.ts'
import { sealTokens, sessionHash } from '../session/reader.ts'
import { isKnownBrowser, knownBrowserCookie } from './known-browser.ts'
import { admitCallback, admitSignIn, isNavigation } from './limits.ts'
import { navigationPage } from './navigation-page.ts'
import { returnPath } from './return-path.ts'
import {
  beginTransaction,
  openTransaction,
  type SignInTransaction,
  sealTransaction,
  signInSeconds,
} from './transaction.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>
type Query = Readonly<Record<string, unknown>>

/** Why a sign-in failed, for the page that says so. */
type SignInFault = 'expired' | 'denied' | 'no-role' | 'unreachable' | 'limited'

const meTimeoutMs = 5_000
const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/**
 * GET /console/login: begins a sign-in; with `max_age` the user has to sign in again when that was longer ago.
 * @throws Problem 403 when a page loads it instead of the browser going there
 */
export function loginEndpoint(context: ConsoleContext): Handler {
  const { signInPlaces: places } = context
  return async (request, reply) => {
    if (!isNavigation(request)) throw new Problem(403, 'Only a browser that goes to this page may begin a sign-in.')
    const isKnown = () => isKnownBrowser(context, request)
    if (!(await admitSignIn(context.limit, request, isKnown))) return refuse(reply, 'limited')
    const release = places.take(request.ip)
    if (release === undefined) return refuse(reply, 'limited')
    const query = request.query as Query
    const maxAge = /^\d{1,5}$/.test(text(query.max_age) ?? '') ? Number(query.max_age) : undefined
    const transaction = beginTransaction(context.clock, {
      returnTo: returnPath(text(query.return_to), context.publicUrl),
      maxAge,
      replaces: sessionHash(request.headers.cookie, context.secure),
    })
    try {
      const location = await context.provider.authorizationUrl(transaction)
      const value = sealTransaction(transaction, context.encryptionKey)
      return reply.header('set-cookie', transactionCookie(context, value)).redirect(location, 303)
    } catch (error) {
      request.log.error({ err: error }, 'a sign-in could not begin')
      return refuse(reply, 'unreachable')
    } finally {
      release()
    }
  }
}

/** GET /console/callback: ends a sign-in, in the browser that began it. Each time the session gets a new id. */
export function callbackEndpoint(context: ConsoleContext): Handler {
  return async (request, reply) => {
    const cookie = readCookie(request.headers.cookie, 'gatehouse-console-sign-in', context.secure)
    const transaction = openTransaction(cookie, context.encryptionKey, context.clock)
    reply.header('set-cookie', transactionCookie(context, '', 0))
    if (transaction === undefined) return refuse(reply, 'expired')
    // The cookie of one sign-in that began may be shown many times, with any code.
    if (!(await admitCallback(context.limit, request))) return refuse(reply, 'limited')
    const release = context.signInPlaces.take(request.ip)
    if (release === undefined) return refuse(reply, 'limited')
    let signedIn: SignedIn
    try {
      signedIn = await context.provider.exchange(
        new URLSearchParams(request.query as Record<string, string>),
        transaction,
      )
    } catch (error) {
      request.log.warn({ err: error }, 'a sign-in failed')
      return refuse(reply, 'denied')
    } finally {
      release()
    }
    const fault = await checkRole(context, request, signedIn)
    if (fault !== undefined) {
      await context.provider.revoke(signedIn.tokens.refreshToken).catch(() => {})
      return refuse(reply, fault)
    }
    return startSession(context, reply, signedIn, transaction)
  }
}

/** Why the user gets no session: no management role now, or nobody says. */
async function checkRole(
  { connections }: ConsoleContext,
  request: FastifyRequest,
  { tokens }: SignedIn,
): Promise<SignInFault | undefined> {
  try {
    const { statusCode, body } = await connections.call('identity', {
      method: 'GET',
      path: '/admin/v1/me',
      headers: { authorization: `Bearer ${tokens.accessToken}`, 'x-forwarded-for': request.ip },
      signal: AbortSignal.timeout(meTimeoutMs),
      holder: 'sign-in',
    })
    const { roles = [] } = (await body.json()) as { roles?: readonly string[] }
    // A token that no role gives a scope is valid at no API.
    if (statusCode === 401 || statusCode === 403) return 'no-role'
    if (statusCode !== 200) return 'unreachable'
    return roles.some((role) => role.startsWith('gatehouse-')) ? undefined : 'no-role'
  } catch (error) {
    request.log.error({ err: error }, 'the roles of a user could not be read')
    return 'unreachable'
  }
}

async function startSession(
  context: ConsoleContext,
  reply: FastifyReply,
  { tokens, userId, providerSessionId }: SignedIn,
  { returnTo, replaces }: SignInTransaction,
): Promise<FastifyReply> {
  const id = randomToken()
  const idHash = tokenHash(id)
  const now = context.clock.now()
  await context.store.sessions.start(
    {
      idHash,
      userId,
      providerSessionId,
      tokensSealed: sealTokens(idHash, tokens, context.encryptionKey),
      tokensExpireAt: tokens.expiresAt,
      generation: 1,
      createdAt: now,
      seenAt: now,
    },
    replaces,
  )
  if (replaces !== undefined) context.openAnswers.end(replaces)
  const { secure } = context
  reply.header('set-cookie', formatCookie('gatehouse-console', id, { secure, sameSite: 'Strict' }))
  reply.header('set-cookie', knownBrowserCookie(context))
  return navigationPage(reply, returnTo)
}

function transactionCookie({ secure }: ConsoleContext, value: string, maxAgeSeconds = signInSeconds): string {
  return formatCookie('gatehouse-console-sign-in', value, { secure, sameSite: 'Lax', maxAgeSeconds })
}

function refuse(reply: FastifyReply, fault: SignInFault): FastifyReply {
  return reply.redirect(`${basePath}/signed-out?fault=${fault}`, 303)
}
