import type { IncomingMessage } from 'node:http'
import {
  type FastifyBaseLogger,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type RawRequestDefaultExpression,
} from 'fastify'
import type { Log } from '../log.ts'

/** Where a request came from, as its log lines and `request.ip` name it. */
export type AddressOf = (raw: IncomingMessage) => string

/** The other end of the connection. */
export const peerAddress: AddressOf = ({ socket }) => socket.remoteAddress ?? 'unknown'

/** The log as the HTTP server takes it: of a request only what may be kept is told. */
export function requestLog(log: Log): FastifyBaseLogger {
  const serializers = {
    req: ({ method, url }: FastifyRequest) => ({ method, path: loggable(url) }),
  }
  return Object.assign(log.child({}), { serializers }) as FastifyBaseLogger
}

/** Puts the address on every line of a request, while its connection still tells it: one that broke off tells none. */
export function addressedLog(addressOf: AddressOf) {
  return (log: FastifyBaseLogger, bindings: object, options: object, raw: RawRequestDefaultExpression) =>
    log.child({ ...bindings, ip: addressFor(raw, addressOf) }, options)
}

/** What can't be made out is refused later, with a line in the log. */
function addressFor(raw: RawRequestDefaultExpression, addressOf: AddressOf): string {
  try {
    return addressOf(raw)
  } catch {
    return peerAddress(raw)
  }
}

/** One line a request, once it is answered, or its caller has gone. */
export class AnswerLog extends LogController {
  override incomingRequest(): void {}

  override requestCompleted(error: Error | null | undefined, request: FastifyRequest, reply: FastifyReply): void {
    const { method, url } = request
    const ms = Math.round(reply.elapsedTime * 10) / 10
    const entry = { method, path: loggable(url), status: reply.statusCode, ms }
    if (error) request.log.error({ ...entry, err: error }, 'not answered')
    else request.log.info(entry, 'answered')
  }
}

const maxSegmentLength = 64
/** Whoever has a short link may follow it: a path of one letter and an id is logged with the start of the id alone. */
const shortLink = /^(\/[a-z]\/[^/]{4})[^/]+$/

/** A path without what must not be kept: codes and states travel in query strings, signed links are long parts of paths. */
function loggable(url: string = ''): string {
  const path = (url.split('?', 1)[0] ?? '').replace(shortLink, '$1…')
  if (path.length <= maxSegmentLength) return path
  return path
    .split('/')
    .map((segment) => (segment.length > maxSegmentLength ? `${segment.slice(0, 8)}…` : segment))
    .join('/')
}
