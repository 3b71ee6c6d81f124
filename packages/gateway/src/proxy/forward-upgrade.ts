import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  STATUS_CODES,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import { Socket } from 'node:net'
import { type Duplex, finished } from 'node:stream'
import { hasBody, Problem } from '@gatehouse/kit'
import { reset } from './cut-off.ts'
import { responseHeaders, withGatewayHeaders } from './response-headers.ts'
import type { Upstream } from './upstream.ts'
import { tooSlow, unreachable, unusable } from './upstream-problems.ts'
import { type CloseCode, closeCodes, WebSocketCloser } from './web-socket-close.ts'

/** The connection of a WebSocket request, with what was sent after the request. */
export interface UpgradeRequest {
  readonly socket: Duplex
  readonly head: Buffer
  /** Called with what ends the WebSocket once it is joined to that of an upstream. */
  readonly onJoined?: (end: EndWebSocket) => void
}

/** Ends a WebSocket after the current frame, with a close frame; a caller that does not answer it is cut off. */
export type EndWebSocket = (code: CloseCode, reason: string) => void

/** One upgrade to forward, with the headers of the upstream request and those that every response of ours carries. */
export interface ForwardUpgrade extends UpgradeRequest {
  /** The path and query of the upstream request. */
  readonly target: string
  readonly headers: readonly string[]
  readonly gatewayHeaders: Readonly<Record<string, string>>
  /** Called with a function that ends the joined connections; returns one to call when they have ended. */
  readonly onUpgrade?: (end: (reason: string) => void) => () => void
  /** The same for the response of an upstream that refuses the upgrade. */
  readonly onResponse?: (end: () => void) => () => void
}

/**
 * Whether a request is a WebSocket upgrade (RFC 6455 §4.1). Others are ignored, as RFC 9110 §7.8 allows: also one with a
 * body, for which an upstream would wait on the connection that is to be upgraded.
 */
export function isWebSocketUpgrade(request: IncomingMessage): boolean {
  const { method, headers } = request
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && !hasBody(request)
}

/**
 * Forwards a WebSocket upgrade to an upstream and joins the two connections. A response other than 101 goes to the
 * caller instead. Resolves once the caller is answered.
 * @throws Problem 502, 503 or 504 when the upstream does not answer in time or its breaker is open
 */
export function forwardUpgrade(upstream: Upstream, upgrade: ForwardUpgrade): Promise<void> {
  const { socket } = upgrade
  upstream.admit()
  const out = requestUpgrade(upstream, upgrade)
  socket.once('close', () => out.destroy())
  return new Promise((resolve, reject) => {
    const timeout = setTimeout(() => out.destroy(tooSlow()), upstream.headersTimeoutMs)
    out.once('close', () => clearTimeout(timeout))
    out.on('error', (cause: NodeJS.ErrnoException | Problem) => {
      const isAnswered = 'code' in cause && cause.code === 'HPE_HEADER_OVERFLOW'
      if (isAnswered) upstream.recordSuccess()
      else if (!socket.destroyed) upstream.recordFailure(cause)
      reject(isAnswered ? unusable(cause) : cause instanceof Problem ? cause : unreachable(cause))
    })
    out.once('response', (response) => {
      clearTimeout(timeout)
      writeResponse(upstream, upgrade, response)
      resolve()
    })
    out.once('upgrade', (response, upstreamSocket, upstreamHead) => {
      clearTimeout(timeout)
      if (upstreamHead.length > 0) upstreamSocket.unshift(upstreamHead)
      joinUpgrade(upstream, upgrade, response, upstreamSocket)
      resolve()
    })
  })
}

/**
 * Answers the caller with a response that is no upgrade. Its connection is reset where the response breaks off, or pauses
 * for too long, the caller's own pauses included.
 */
function writeResponse(upstream: Upstream, upgrade: ForwardUpgrade, response: IncomingMessage): void {
  const { socket, gatewayHeaders, onResponse } = upgrade
  upstream.recordSuccess()
  socket.write(formatResponseHead(response, upstream, { ...gatewayHeaders, connection: 'close' }), 'latin1')
  response.socket.setTimeout(upstream.bodyTimeoutMs, () => response.destroy())
  finished(response, (error) => error && reset(socket))
  response.pipe(socket)
  runAtClose(
    socket,
    onResponse?.(() => reset(socket)),
  )
}

/** Answers the caller with 101 and joins the connections. */
function joinUpgrade(
  upstream: Upstream,
  upgrade: ForwardUpgrade,
  response: IncomingMessage,
  upstreamSocket: Duplex,
): void {
  const { socket, head, gatewayHeaders, onJoined, onUpgrade } = upgrade
  upstream.recordSuccess()
  const added = { ...gatewayHeaders, connection: 'Upgrade', upgrade: 'websocket' }
  socket.write(formatResponseHead(response, upstream, added), 'latin1')
  if (head.length > 0) upstreamSocket.write(head)
  const end = joinSockets(socket, upstreamSocket)
  onJoined?.(end)
  const endByPolicy = (reason: string) => end(closeCodes.policyViolation, reason)
  runAtClose(socket, onUpgrade?.(endByPolicy))
}

function runAtClose(socket: Duplex, ended: (() => void) | undefined): void {
  if (!ended) return
  if (socket.destroyed) ended()
  else socket.once('close', ended)
}

/** Sends the upgrade on a separate connection, which lives as long as the caller's. */
function requestUpgrade({ origin }: Upstream, { target, headers }: ForwardUpgrade): ClientRequest {
  const send = origin.protocol === 'https:' ? httpsRequest : httpRequest
  const request: ClientRequest = send({
    host: origin.hostname.replace(/^\[|\]$/g, ''),
    port: origin.port,
    path: target,
    agent: false,
    // Node accepts a flat list here, as in writeHead; its types declare only the object.
    headers: [
      ...headers,
      'host',
      origin.host,
      'connection',
      'Upgrade',
      'upgrade',
      'websocket',
    ] as unknown as OutgoingHttpHeaders,
  })
  request.end()
  return request
}

/** Joins the two connections. Returns a function that ends them after the current frame. */
function joinSockets(caller: Duplex, upstream: Duplex): EndWebSocket {
  const frames = new WebSocketCloser()
  caller.pipe(upstream)
  upstream.pipe(frames).pipe(caller)
  for (const [here, there] of [
    [caller, upstream],
    [upstream, caller],
  ] as const) {
    if (here instanceof Socket) here.setKeepAlive(true, keepAliveMs)
    here.on('error', () => there.destroy())
    here.once('close', () => there.destroy())
  }
  return (code, reason) => {
    caller.unpipe(upstream)
    caller.resume()
    frames.closeWith(code, reason)
    setTimeout(() => caller.destroy(), closeTimeoutMs).unref()
  }
}

/** Timeout of the current frame and of the caller's answer to the close. */
const closeTimeoutMs = 1_000
/** TCP keep-alive after this idle time. */
const keepAliveMs = 30_000

/** The head of a response, to be written as Latin-1: so were the upstream's headers read, whatever their bytes mean. */
function formatResponseHead(
  answer: IncomingMessage,
  { ownCookies: keepCookies }: Upstream,
  own: Readonly<Record<string, string>>,
): string {
  const { statusCode: status = 0 } = answer
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`]
  const forwarded = responseHeaders(answer.headers, { status, keepCookies })
  for (const [name, value] of Object.entries(withGatewayHeaders(forwarded, own)))
    for (const one of [value].flat()) lines.push(`${name}: ${one}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}
