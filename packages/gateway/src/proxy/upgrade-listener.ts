import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Http } from '@gatehouse/kit'
import { type EndWebSocket, isWebSocketUpgrade, type UpgradeRequest } from './forward-upgrade.ts'
import { closeCodes } from './web-socket-close.ts'

/** How long a client whose upgrade was refused may take to read the answer and close. */
const lingerMs = 2_000

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
    const response = assignResponse(raw, socket)
    if (response === undefined) {
      http.log.info({ ip: raw.socket.remoteAddress ?? 'unknown' }, 'refused: an upgrade behind an unanswered request')
      socket.destroy()
      return
    }
    response.once('finish', () => socket.end())
    socket.once('finish', () => {
      const isJoined = open.get(socket) !== undefined
      if (!isJoined) closeLater(socket)
    })
    upgrades.set(raw, { socket, head, onJoined: (end) => void (open.has(socket) && open.set(socket, end)) })
    http.routing(raw, response)
  })
}

/**
 * The response of an upgrade; undefined behind an unanswered request. Node has let go of the connection already, and of an
 * upgrade that is ignored it loses what follows: neither leaves a connection that could be used further.
 */
function assignResponse(raw: IncomingMessage, socket: Duplex): ServerResponse | undefined {
  const response = new ServerResponse(raw)
  response.shouldKeepAlive = false
  try {
    response.assignSocket(socket as never)
    return response
  } catch {
    return undefined
  }
}

/** Closes a connection that is answered: the server's own timeouts no longer apply to it. */
function closeLater(socket: Duplex): void {
  const late = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once('close', () => clearTimeout(late))
}
