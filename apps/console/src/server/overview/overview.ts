import { Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { ConsoleContext } from '../context.ts'
import type { ApiService } from '../options.ts'
import { callSignedIn, signedOut } from '../proxy/signed-in-call.ts'
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

/** How a service is: what its readiness says, or that it does not answer. */
interface ServiceStatus {
  readonly service: ApiService
  readonly status: string
  readonly engines: Readonly<Record<string, string>>
}

async function requireSession(context: ConsoleContext, request: FastifyRequest): Promise<Session> {
  const session = await readSession({ ...context, sessions: context.store.sessions }, request.headers.cookie)
  if (session === undefined) throw signedOut()
  return session
}

/** GET /console/api/session. A user who lost every management role is signed out. */
export function sessionEndpoint(context: ConsoleContext) {
  return async (request: FastifyRequest): Promise<SessionAnswer> => {
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
}

/** GET /console/api/status: the readiness of each service, as this process reaches it. */
export function statusEndpoint(context: ConsoleContext) {
  return async (request: FastifyRequest): Promise<{ items: ServiceStatus[] }> => {
    await requireSession(context, request)
    const { connections } = context
    const items = await Promise.all(connections.names.map((service) => readStatus(context, service)))
    return { items }
  }
}

async function readStatus({ connections }: ConsoleContext, service: ApiService): Promise<ServiceStatus> {
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const answer = await connections.call(service, { method: 'GET', path: '/readyz', signal })
    const { status, engines } = (await answer.body.json()) as { status: string; engines: Record<string, string> }
    return { service, status, engines }
  } catch {
    return { service, status: 'unreachable', engines: {} }
  }
}
