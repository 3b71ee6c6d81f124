import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import type { Log } from './log.ts'

/** The log as the HTTP server takes it: of a request only what may be kept is told. */
export function requestLog(log: Log): FastifyBaseLogger {
  const serializers = {
    req: ({ method, url, ip }: FastifyRequest) => ({ method, path: loggable(url), ip }),
  }
  return Object.assign(log.child({}), { serializers }) as FastifyBaseLogger
}

/** One line a request, once it is answered, or its caller has gone. */
export class AnswerLog extends LogController {
  override incomingRequest(): void {}

  override requestCompleted(error: Error | null | undefined, request: FastifyRequest, reply: FastifyReply): void {
    const { method, url, ip } = request
    const ms = Math.round(reply.elapsedTime * 10) / 10
    const told = { method, path: loggable(url), status: reply.statusCode, ms, ip }
    if (error) request.log.error({ ...told, err: error }, 'not answered')
    else request.log.info(told, 'answered')
  }
}

const longestSegment = 64

/** A path without what must not be kept: codes and states travel in query strings, signed links are long parts of paths. */
function loggable(url: string = ''): string {
  const path = url.split('?', 1)[0] ?? ''
  if (path.length <= longestSegment) return path
  return path
    .split('/')
    .map((segment) => (segment.length > longestSegment ? `${segment.slice(0, 8)}…` : segment))
    .join('/')
}
