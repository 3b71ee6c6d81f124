import { Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { ConsoleContext } from '../context.ts'
import type { ApiService } from '../options.ts'
import { callSignedIn, isSignedOut, signedOut } from '../proxy/signed-in-call.ts'
import { readSession } from '../session/reader.ts'
import { maxAgeMs, type Session } from '../session/session.ts'

const timeoutMs = 5_000

/** What the pages know of the person: who, what they may do, until when, and which services there are. */
interface SessionAnswer {
  readonly user: string
  readonly roles: readonly string[]
  readonly scopes: readonly string[]
  readonly auth_time?: number
  readonly expires_at: string
  readonly services: readonly ApiService[]
  /** Where users sign in, and where programs call the APIs. */
  readonly issuer: string
  readonly api_url: string
}

/** Nobody is signed in. */
interface Nobody {
  readonly user: null
}

/** The session of a request, of which it is a use as {@link readSession} says. @throws Problem 401 without one */
export async function requireSession(
  context: ConsoleContext,
  request: FastifyRequest,
  isUse?: boolean,
): Promise<Session> {
  const session = await readSession({ ...context, sessions: context.store.sessions }, request.headers, isUse)
  if (session === undefined) throw signedOut()
  return session
}

/**
 * GET /console/api/session. That nobody is signed in is an answer, not a failure: every first visit gets it, and a 401
 * would stand in the console of the browser as a request that failed.
 */
export function sessionEndpoint(context: ConsoleContext) {
  return async (request: FastifyRequest): Promise<SessionAnswer | Nobody> => {
    try {
      return await describeSession(context, request)
    } catch (error) {
      if (isSignedOut(error)) return { user: null }
      throw error
    }
  }
}

/** Who is signed in. A user who lost every management role is signed out. @throws Problem 401 without a session */
async function describeSession(context: ConsoleContext, request: FastifyRequest): Promise<SessionAnswer> {
  const session = await requireSession(context, request)
  const call = { method: 'GET', path: '/admin/v1/me', signal: AbortSignal.timeout(timeoutMs) }
  const answer = await callSignedIn(context, session, 'identity', { request, call })
  if (answer.statusCode !== 200) {
    await answer.body.dump()
    throw new Problem(answer.statusCode === 429 ? 429 : 503, 'The identity service does not say who you are.')
  }
  const me = (await answer.body.json()) as Omit<SessionAnswer, 'expires_at' | 'services' | 'issuer' | 'api_url'>
  if (!me.roles.some((role) => role.startsWith('gatehouse-'))) {
    await context.store.sessions.end(session.idHash)
    context.openAnswers.end(session.idHash)
    throw signedOut()
  }
  const expiresAt = new Date(session.createdAt + maxAgeMs).toISOString()
  const { issuer, apiUrl, connections } = context
  return { ...me, expires_at: expiresAt, services: connections.names, issuer, api_url: apiUrl }
}
