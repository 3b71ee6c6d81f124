import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestEnd } from './setup.ts'

/** A mail server whose replies a test decides. */
export interface MailServer {
  readonly url: string
  /** The recipients of the mails it received, which end with a dot. */
  readonly received: readonly string[]
  /** Connections made so far. */
  connections(): number
  /** Accepts no further connections. */
  stop(): void
}

/**
 * Replies to a line itself, or returns undefined for the usual reply. The line is `CONNECT` before the greeting, and `.`
 * once a mail is complete.
 */
export type Reply = (line: string, socket: Socket, recipient: string) => true | undefined

/** Starts a mail server that accepts everything, unless `reply` replies instead. It is stopped after the test. */
export async function startMailServer(t: TestEnd, reply: Reply): Promise<MailServer> {
  const received: string[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    converse(socket, received, reply)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const closed = once(server, 'close')
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await closed
  })
  const { port } = server.address() as AddressInfo
  return { url: `smtp://127.0.0.1:${port}`, received, connections: () => connections, stop: () => void server.close() }
}

function converse(socket: Socket, received: string[], reply: Reply): void {
  let buffered = ''
  let recipient = ''
  let isData = false
  const answer = (line: string, usual: string) => reply(line, socket, recipient) ?? socket.write(`${usual}\r\n`)
  const read = (line: string) => {
    if (isData && line !== '.') return
    if (line === '.') received.push(recipient)
    isData = line === 'DATA'
    recipient = /^RCPT TO:<(.+?)>/.exec(line)?.[1] ?? recipient
    answer(line, isData ? '354 go on' : '250 fine')
  }
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    const lines = (buffered + chunk).split('\r\n')
    buffered = lines.pop() ?? ''
    for (const line of lines) read(line)
  })
  answer('CONNECT', '220 fake')
}
