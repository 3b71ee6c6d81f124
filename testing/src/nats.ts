import { freePort, requireProgram, type Server, startServer, temporaryFolder } from './server.ts'

export interface NatsOptions {
  readonly port?: number
  /** Where the streams are kept; give the same folder to a second start to keep them. */
  readonly folder?: string
}

/** Starts nats-server with JetStream on a free port. */
export async function startNats(options: NatsOptions = {}): Promise<Server> {
  const program = requireProgram('nats-server')
  const port = options.port ?? (await freePort())
  const folder = temporaryFolder('nats')
  const args = ['--addr', '127.0.0.1', '--port', String(port), '--jetstream', '--store_dir', options.folder ?? folder]
  return startServer({ program, args, port, folder, url: `nats://127.0.0.1:${port}` })
}
