import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { hasBody } from './request-body.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How long a request's body may take in all, in milliseconds. Default: as `createHttp` says. */
    bodyTimeoutMs?: number | ((raw: IncomingMessage) => number | undefined)
  }
}

/** How fast a body must arrive. */
export interface BodyPatience {
  /** How long a body may take whatever its size. Default 20 s. */
  readonly graceMs?: number
  /** Bytes of a body that extend its time by one second. Default 500. */
  readonly bytesPerSecond?: number
  /** How long a body may take in all. Default 60 s; a route may set its own as `bodyTimeoutMs`. */
  readonly totalMs?: number
}

/**
 * Answers 408 to bodies that arrive too slowly, because each occupies a connection. Headers have a timeout of the server.
 */
export function refuseSlowBodies(http: Pick<FastifyInstance, 'addHook'>, patience: BodyPatience): void {
  http.addHook('onRequest', (request, reply, done) => {
    if (hasBody(request)) setImmediate(limitIncomplete, request, reply, patience)
    done()
  })
}

/** Most bodies arrive with their headers and need no timer. */
function limitIncomplete(request: FastifyRequest, reply: FastifyReply, patience: BodyPatience): void {
  if (!request.raw.complete && !request.raw.destroyed) limitDuration(request, reply, patience)
}

function limitDuration(request: FastifyRequest, reply: FastifyReply, patience: BodyPatience): void {
  const { graceMs = 20_000, bytesPerSecond = 500, totalMs = 60_000 } = patience
  const { raw, routeOptions } = request
  const { socket } = raw
  const bytesBefore = socket.bytesRead ?? 0
  const startedAt = performance.now()
  const { bodyTimeoutMs } = routeOptions.config
  const maxMs = (typeof bodyTimeoutMs === 'function' ? bodyTimeoutMs(raw) : bodyTimeoutMs) ?? totalMs
  const check = (): void => {
    const earnedMs = graceMs + (((socket.bytesRead ?? 0) - bytesBefore) / bytesPerSecond) * 1000
    const leftMs = Math.min(earnedMs, maxMs) - (performance.now() - startedAt)
    if (leftMs > 0) timer = setTimeout(check, leftMs).unref()
    else if (!raw.complete) refuse(request, reply)
  }
  let timer = setTimeout(check, Math.min(graceMs, maxMs)).unref()
  const stop = () => clearTimeout(timer)
  raw.once('end', stop)
  raw.once('close', stop)
}

/** The rest of the body is not read, so the connection ends with this response. */
function refuse({ raw, id, log }: FastifyRequest, reply: FastifyReply): void {
  const { socket } = raw
  log.info('a body came too slowly')
  reply.hijack()
  if (reply.raw.headersSent) {
    // For a client of HTTP/1.0 the end of the connection may be that of the response: only a reset says that it is not.
    if (raw.httpVersion === '1.0') socket.resetAndDestroy()
    raw.destroy()
    return
  }
  const problem = {
    type: 'about:blank',
    title: 'Request Timeout',
    status: 408,
    detail: 'The body came too slowly.',
    request_id: id,
  }
  reply.raw.writeHead(408, { 'content-type': 'application/problem+json', connection: 'close' })
  reply.raw.end(JSON.stringify(problem), () => socket.destroySoon())
}
