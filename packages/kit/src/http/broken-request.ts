import { randomUUIDv7 } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { Problem } from '../problem.ts'

/** How large the request line and the headers of a request may be together, in bytes. */
export const maxHeaderBytes = 16 * 1024

/** How many header lines a request may have: twice what most servers take, and far from where some read no further. */
const maxHeaderLines = 200

/** How long the other end may take to read the answer and close, while the rest of what it sends is thrown away. */
const lingerMs = 2_000

/** Connections that are answered: the parser refuses whatever comes after. */
const answered = new WeakSet<Socket>()

/**
 * Refuses requests with more than 200 header lines. Some servers read only so many and ignore the rest: what a proxy adds
 * behind them is not there then.
 * @throws Problem 431
 */
export function refuseManyHeaders({ rawHeaders }: IncomingMessage): void {
  if (rawHeaders.length > 2 * maxHeaderLines)
    throw new Problem(431, `The request has more than ${maxHeaderLines} header lines.`)
}

/**
 * Answers bytes that the HTTP parser refuses, because they are no request, have too large headers, or these did not come
 * in time. There is no request that this could be logged with, so it has a line of its own. The connection is not closed
 * before the other end has sent what it was sending: a system that has unread bytes resets it, and the answer is lost.
 */
export function answerBrokenRequest(this: FastifyInstance, error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || answered.has(socket)) return
  answered.add(socket)
  const id = randomUUIDv7()
  this.log.info({ reqId: id, ip: socket.remoteAddress ?? 'unknown', code: error.code }, 'refused: not a request')
  if (!socket.writable || isAnswering(socket)) {
    socket.destroy(error)
    return
  }
  socket.end(textOf(problemOf(error), id))
  const end = () => socket.destroy(error)
  const late = setTimeout(end, lingerMs).unref()
  socket.once('end', end)
  socket.once('close', () => clearTimeout(late))
}

/** Within an answer that has begun, another one would be read as a part of it. */
function isAnswering(socket: Socket & { readonly _httpMessage?: ServerResponse | null }): boolean {
  return socket._httpMessage?.headersSent ?? false
}

function problemOf({ code }: NodeJS.ErrnoException): Problem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem(408, 'The headers came too slowly.')
  if (code === 'HPE_HEADER_OVERFLOW')
    return new Problem(
      431,
      `The request line and the headers are larger than the ${maxHeaderBytes} bytes allowed, or there are more than ${maxHeaderLines} header lines.`,
    )
  return new Problem(400, 'This is no HTTP request.')
}

function textOf(problem: Problem, id: string): string {
  const body = JSON.stringify({ ...problem.body(), request_id: id })
  const head = [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    `x-request-id: ${id}`,
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
