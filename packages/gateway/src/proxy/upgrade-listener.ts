import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Http } from '@gatehouse/kit'
import { isWebSocketUpgrade, type UpgradeRequest } from './forward-upgrade.ts'

/**
 * Passes WebSocket upgrades through the same middleware as every other request. A route without an upstream answers
 * them as plain requests. A server does not track its upgraded connections, so they are closed here when it closes.
 */
export function listenForUpgrades(http: Http, upgrades: WeakMap<IncomingMessage, UpgradeRequest>): void {
  const { server } = http
  const open = new Set<Duplex>()
  http.addHook('preClose', async () => {
    for (const socket of open) socket.destroy()
  })
  Object.assign(server, { shouldUpgradeCallback: isWebSocketUpgrade })
  server.on('upgrade', (raw, socket, head) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    socket.on('error', () => socket.destroy())
    const response = new ServerResponse(raw)
    response.shouldKeepAlive = false
    response.assignSocket(socket as never)
    response.once('finish', () => socket.end())
    upgrades.set(raw, { socket, head })
    http.routing(raw, response)
  })
}
