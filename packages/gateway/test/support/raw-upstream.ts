import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** An upstream that does what `answer` does once a request begins to arrive, stopped with the test. Returns its URL. */
export async function startRawUpstream(context: TestContext, answer: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket)).on('error', () => {})
    socket.once('data', () => answer(socket))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
