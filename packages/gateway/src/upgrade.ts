import { type ClientRequest, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { Problem } from '@gatehouse/kit'
import { answerHeaders } from './headers.ts'
import type { Upstream } from './upstream.ts'

/** A connection whose caller asked for WebSocket, with what it sent after its request. */
export interface UpgradeRequest {
  readonly socket: Duplex
  readonly head: Buffer
}

/** One upgrade to pass on, with the headers the upstream gets and those every answer of ours carries. */
export interface UpgradePassage extends UpgradeRequest {
  /** The path to ask the upstream for. */
  readonly target: string
  readonly headers: readonly string[]
  readonly answered: Readonly<Record<string, string>>
}

/** Whether the request asks for WebSocket (RFC 6455 §4.1); any other upgrade is ignored, as RFC 9110 §7.8 allows. */
export function asksForWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}

/**
 * Passes a WebSocket upgrade to an upstream and joins the two connections. When the upstream answers otherwise, that
 * answer goes to the caller instead. Resolves once the caller is answered.
 * @throws Problem 502 or 504 when the upstream can't be reached in time.
 */
export function passUpgrade(upstream: Upstream, passage: UpgradePassage): Promise<void> {
  const { socket, head, answered } = passage
  const out = askForUpgrade(upstream, passage)
  socket.once('close', () => out.destroy())
  return new Promise((resolve, reject) => {
    const patience = setTimeout(() => {
      reject(new Problem(504, 'The service behind this address took too long to answer.'))
      out.destroy()
    }, upgradeTimeoutMs)
    out.once('close', () => clearTimeout(patience))
    out.on('error', (cause) => {
      reject(new Problem(502, 'The service behind this address could not be reached.', { cause }))
    })
    out.once('response', (answer) => {
      clearTimeout(patience)
      socket.write(answerHead(answer, { ...answered, connection: 'close' }))
      answer.pipe(socket)
      resolve()
    })
    out.once('upgrade', (answer, upstreamSocket, upstreamHead) => {
      clearTimeout(patience)
      socket.write(answerHead(answer, { ...answered, connection: 'Upgrade', upgrade: 'websocket' }))
      if (upstreamHead.length > 0) socket.write(upstreamHead)
      if (head.length > 0) upstreamSocket.write(head)
      join(socket, upstreamSocket)
      resolve()
    })
  })
}

/** A connection of its own, for it is kept as long as the caller keeps theirs. */
function askForUpgrade({ origin }: Upstream, { target, headers }: UpgradePassage): ClientRequest {
  const send = origin.protocol === 'https:' ? httpsRequest : httpRequest
  const request: ClientRequest = send({
    host: origin.hostname.replace(/^\[|\]$/g, ''),
    port: origin.port,
    path: target,
    agent: false,
    // Node takes a flat list here as it does in writeHead; its types know of the object alone.
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

const upgradeTimeoutMs = 10_000

function join(one: Duplex, other: Duplex): void {
  one.pipe(other)
  other.pipe(one)
  for (const [here, there] of [
    [one, other],
    [other, one],
  ] as const) {
    here.on('error', () => there.destroy())
    here.once('close', () => there.destroy())
  }
}

function answerHead(answer: IncomingMessage, own: Readonly<Record<string, string>>): string {
  const lines = [`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}`]
  for (const [name, value] of Object.entries({ ...answerHeaders(answer.headers), ...own }))
    for (const one of [value].flat()) lines.push(`${name}: ${one}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}
