import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** Resets a connection: where a response without a length ends with it, half of one would pass for the whole. */
export function reset(socket: Duplex): void {
  if (socket instanceof Socket) socket.resetAndDestroy()
  else socket.destroy()
}

/** Cuts off a response that has begun, so that its client sees that it is not whole. */
export function cutOff(response: ServerResponse): void {
  // Whatever is sent to a later version has a length or a last chunk. A reset may take away what the client has not read.
  if (response.req.httpVersion === '1.0' && response.socket) reset(response.socket)
  response.destroy()
}
