import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy before a server of TCP that can go silent, as a network does that drops packets. */
export interface SilentProxy {
  readonly port: number
  /** How many connections were made through it. */
  readonly connections: number
  /** From now on nothing passes on the connections that are open; they stay open. New ones work. */
  silence(): void
  stop(): Promise<void>
}

/** Starts a proxy on the loopback address before `port` there. */
export async function startSilentProxy(port: number): Promise<SilentProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let connections = 0
  const server = createServer((client) => {
    connections++
    const upstream = connect(port, '127.0.0.1')
    const pair = [client, upstream] as const
    pairs.add(pair)
    client.pipe(upstream).pipe(client)
    for (const socket of pair) {
      socket.on('error', () => {})
      socket.on('close', () => pairs.delete(pair))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections
    },
    silence() {
      for (const [client, upstream] of pairs) {
        client.unpipe(upstream)
        upstream.unpipe(client)
        for (const socket of [client, upstream]) socket.pause()
      }
    },
    async stop() {
      for (const pair of pairs) for (const socket of pair) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
