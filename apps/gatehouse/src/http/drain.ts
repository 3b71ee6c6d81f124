import type { Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * Stops accepting connections while another process accepts those to come, and gives the clients of kept-alive ones time
 * to move: each response closes its connection. Node by itself would close idle connections at once, on which a request
 * may be under way. Resolves when no connection is left, after `graceMs` at most.
 */
export async function drain(server: Server, graceMs: number): Promise<void> {
  server.prependListener('request', (_request, response) => {
    if (!response.headersSent) response.setHeader('connection', 'close')
  })
  const closed = new Promise<true>((resolve) => {
    const { closeIdleConnections } = server
    server.closeIdleConnections = () => {}
    server.close(() => resolve(true))
    server.closeIdleConnections = closeIdleConnections
  })
  await Promise.race([closed, pause(graceMs)])
}
