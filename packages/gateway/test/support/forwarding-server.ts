import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { Upstream } from '../../src/proxy/upstream.ts'

/** A server whose listener forwards to an upstream by itself. Both are closed when the test ends. */
export async function startForwardingServer(
  context: TestContext,
  { pool }: Pick<Upstream, 'pool'>,
  listener: RequestListener,
): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(async () => {
    server.closeAllConnections()
    server.close()
    await pool.destroy()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}
