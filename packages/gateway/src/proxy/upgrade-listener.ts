import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Http } from '@gatehouse/kit'
import { type EndWebSocket, isWebSocketUpgrade, type UpgradeRequest } from './forward-upgrade.ts'
import { closeCodes } from './web-socket-close.ts'

/**
 * Passes WebSocket upgrades through the same middleware as every other request. A route without an upstream answers
 * them as plain requests. A server does not track its upgraded connections, so they are closed here when it closes, with
 * a close frame where they are WebSockets: clients then know that they may come back.
 */
export function listenForUpgrades(http: Http, upgrades: WeakMap<IncomingMessage, UpgradeRequest>): void {
  const { server } = http
  const open = new Map<Duplex, EndWebSocket | undefined>()
  http.addHook('preClose', async () => {
    const closed = [...open.keys()].map((socket) => new Promise((resolve) => socket.once('close', resolve)))
    for (const [socket, end] of open) {
      if (end) end(closeCodes.goingAway, 'The gateway stops')
      else socket.destroy()
    }
    await Promise.all(closed)
  })
  Object.assign(server, { shouldUpgradeCallback: isWebSocketUpgrade })
  server.on('upgrade', (raw, socket, head) => {
    open.set(socket, undefined)
    socket.once('close', () => open.delete(socket))
    socket.on('error', () => socket.destroy())
    const response = new ServerResponse(raw)
    response.shouldKeepAlive = false
    response.assignSocket(socket as never)
    response.once('finish', () => socket.end())
    upgrades.set(raw, { socket, head, onJoined: (end) => void (open.has(socket) && open.set(socket, end)) })
    http.routing(raw, response)
  })
}
