import { Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ConsoleContext } from '../context.ts'
import type { ApiService } from '../options.ts'
import { answerFrom } from '../proxy/forward.ts'
import { callSignedIn } from '../proxy/signed-in-call.ts'
import type { Session } from '../session/session.ts'
import { requireSession } from './overview.ts'

const timeoutMs = 8_000
const parts: ReadonlySet<string> = new Set(['status', 'setup', 'config', 'storage', 'drift'])

/** What the services at one address answered, or why they did not. */
interface PartAnswer {
  readonly services: readonly ApiService[]
  readonly answer?: unknown
  readonly problem?: { readonly status: number; readonly detail: string }
}

/**
 * GET /console/api/system/{status|setup|config|storage|drift}: each process answers for the services that it runs, so all are asked at
 * once, each address once. One that is away takes nothing from the others.
 */
export function systemEndpoint(context: ConsoleContext) {
  return async (request: FastifyRequest): Promise<{ items: PartAnswer[] }> => {
    const { part } = request.params as { part: string }
    if (!parts.has(part)) throw new Problem(404, `There is no ${part} of the system.`)
    const session = await requireSession(context, request)
    const addresses = Map.groupBy(context.connections.names, (name) => context.services[name])
    const answers = [...addresses.values()].map((services) => ask(context, session, { request, part, services }))
    return { items: await Promise.all(answers) }
  }
}

interface Question {
  readonly request: FastifyRequest
  readonly part: string
  readonly services: readonly ApiService[]
}

async function ask(
  context: ConsoleContext,
  session: Session,
  { request, part, services }: Question,
): Promise<PartAnswer> {
  const [service] = services
  if (service === undefined) return { services }
  const call = { method: 'GET', path: `/admin/v1/${part}`, signal: AbortSignal.timeout(timeoutMs) }
  try {
    const answer = await callSignedIn(context, session, service, { request, call })
    const body = (await answer.body.json()) as { detail?: string }
    if (answer.statusCode === 200) return { services, answer: body }
    return { services, problem: { status: answer.statusCode, detail: body.detail ?? '' } }
  } catch (error) {
    if (error instanceof Problem && error.status === 401) throw error
    return { services, problem: { status: 503, detail: `The ${service} service does not answer.` } }
  }
}

/** GET /console/api/live/{service}: the counters of a service as they change. The stream ends with the session. */
export function countersEndpoint(context: ConsoleContext) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { service } = request.params as { service: ApiService }
    if (!context.connections.names.includes(service)) throw new Problem(404, `There is no ${service} service.`)
    const session = await requireSession(context, request, false)
    const [, query] = (request.raw.url ?? '').split('?', 2)
    const path = `/admin/v1/live${query === undefined ? '' : `?${query}`}`
    return answerFrom(context, session, service, { request, reply, call: { method: 'GET', path, body: undefined } })
  }
}
