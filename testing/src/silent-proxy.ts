import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy before a server of TCP that can go silent, as a network does that drops packets. */
export interface SilentProxy {
  readonly port: number
  /** How many connections were made through it. */
  readonly connections: number
  /** From now on nothing passes on the connections that are open; they stay open. New ones work. */
  silence(): void
  /** From now on it takes no new connections; those that are open stay. */
  refuse(): void
  /** Lets so many bytes more pass to the server, counted over all connections, then goes silent; resolves when it has. */
  silenceAfter(bytes: number): Promise<void>
  /**
   * Waits for a connection on which what matches these passes to the server, one after the other. The last of it still
   * reaches the server; once that has answered, nothing passes any more, the answer included.
   */
  loseAnswerTo(...patterns: readonly RegExp[]): Promise<void>
  /** Bytes that have passed to the server. */
  readonly sent: number
  stop(): Promise<void>
}

/** Starts a proxy on the loopback address before `port` there, at a port of its own where none is named. */
export async function startSilentProxy(port: number, at = 0): Promise<SilentProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let connections = 0
  let sent = 0
  let left = Number.POSITIVE_INFINITY
  let reached = () => {}
  let awaited: { readonly patterns: readonly RegExp[]; readonly onLost: () => void } | undefined
  const silence = () => {
    for (const [client, upstream] of pairs) {
      upstream.unpipe(client)
      client.removeAllListeners('data')
      for (const socket of [client, upstream]) socket.pause()
    }
  }
  const pass = (chunk: Buffer, upstream: Socket) => {
    const passing = chunk.subarray(0, left)
    sent += passing.length
    left -= passing.length
    if (passing.length > 0) upstream.write(passing)
    if (left > 0) return
    silence()
    left = Number.POSITIVE_INFINITY
    reached()
  }
  /** Follows the patterns on a connection; the answer to the last of them is kept from the client. */
  const createFollower = (client: Socket, upstream: Socket) => {
    let found = 0
    let patterns = awaited?.patterns
    return (chunk: Buffer) => {
      if (patterns !== awaited?.patterns) [found, patterns] = [0, awaited?.patterns]
      if (!awaited) return
      const text = chunk.toString('latin1')
      while (awaited.patterns[found]?.test(text)) found++
      if (found < awaited.patterns.length) return
      const { onLost } = awaited
      awaited = undefined
      upstream.unpipe(client)
      upstream.once('data', () => {
        silence()
        onLost()
      })
      upstream.resume()
    }
  }
  const server = createServer((client) => {
    connections++
    const upstream = connect(port, '127.0.0.1')
    const pair = [client, upstream] as const
    pairs.add(pair)
    const follow = createFollower(client, upstream)
    client.on('data', (chunk: Buffer) => {
      follow(chunk)
      pass(chunk, upstream)
    })
    client.on('end', () => upstream.end())
    upstream.pipe(client)
    for (const socket of pair) {
      socket.on('error', () => {})
      socket.on('close', () => pairs.delete(pair))
    }
  })
  server.listen(at, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections
    },
    get sent() {
      return sent
    },
    silence,
    refuse() {
      server.close()
    },
    loseAnswerTo(...patterns) {
      return new Promise((resolve) => {
        awaited = { patterns, onLost: resolve }
      })
    },
    silenceAfter(bytes) {
      left = bytes
      return new Promise((resolve) => {
        reached = resolve
      })
    },
    async stop() {
      for (const pair of pairs) for (const socket of pair) socket.destroy()
      if (!server.listening) return
      server.close()
      await once(server, 'close')
    },
  }
}
