import { Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ConsoleContext } from '../context.ts'
import { basePath } from '../cookies.ts'
import type { ApiService } from '../options.ts'
import { readSession } from '../session/reader.ts'
import type { Session } from '../session/session.ts'
import { findForwarded } from './allow-list.ts'
import type { ServiceCall } from './services.ts'
import { callSignedIn, signedOut } from './signed-in-call.ts'

/** The largest body that is forwarded, in bytes. */
export const maxBodyBytes = 1024 * 1024
/** The largest body with many events, in bytes: the page adds a dedup key to each of them. */
export const maxEventsBytes = 2 * maxBodyBytes
/** An answer lasts no longer than this, in milliseconds. */
const maxAnswerMs = 10 * 60_000

const prefix = `${basePath}/api`
/** Of the browser's headers only these go to a service: no cookie, and no credential. */
const requestHeaders = ['accept', 'content-type', 'if-match', 'if-none-match'] as const
/** Of a service's headers only these go to the browser. */
const responseHeaders = ['content-type', 'etag', 'retry-after', 'x-request-id'] as const

/** Forwards a request to the API of a service, when an action declares its operation. */
export function forwardEndpoint(context: ConsoleContext) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { method, headers } = request
    const target = (request.raw.url ?? '').slice(prefix.length)
    const [path = ''] = target.split('?', 1)
    const session = await readSession({ ...context, sessions: context.store.sessions }, headers)
    if (session === undefined) throw signedOut()
    const found = findForwarded(method, path)
    if (found === undefined) throw new Problem(404, `The console does not use ${method} ${path}.`)
    const { service, slowMs } = found
    if (!context.connections.names.includes(service))
      throw new Problem(503, `There is no ${service} service.`, { members: { service } })
    const body = Buffer.isBuffer(request.body) && request.body.length > 0 ? request.body : undefined
    return answerFrom(context, session, service, { request, reply, call: { method, path: target, body, slowMs } })
  }
}

/** What is forwarded, and to whom the answer goes. */
interface Forwarding {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly call: Pick<ServiceCall, 'method' | 'path' | 'body' | 'slowMs'>
}

/** Answers with what a service answers. It ends with the session and with the browser's connection. */
export async function answerFrom(
  context: ConsoleContext,
  session: Session,
  service: ApiService,
  { request, reply, call: { method, path, body, slowMs } }: Forwarding,
): Promise<FastifyReply> {
  const ended = new AbortController()
  const remove = context.openAnswers.add(session.idHash, () => ended.abort())
  const leave = () => {
    remove()
    ended.abort()
  }
  reply.raw.once('close', leave)
  // Of a browser that has left already no further event comes, and it takes no answer.
  if (reply.raw.destroyed) {
    leave()
    return reply.hijack()
  }
  const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(maxAnswerMs)])
  const call = { method, path, headers: pick(request.headers, requestHeaders), body, slowMs, signal }
  const answer = await callSignedIn(context, session, service, { request, call })
  // What the abort of an answer under way says is for nobody.
  answer.body.on('error', () => reply.raw.destroy())
  reply.code(answer.statusCode).headers(pick(answer.headers, responseHeaders))
  return reply.send(answer.body)
}

function pick(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  names: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name]
      return typeof value === 'string' ? [[name, value]] : []
    }),
  )
}
