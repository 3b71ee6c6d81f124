import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, requireProgram, type Server, type ServerName, startServer, temporaryFolder } from '../server.ts'

/** Debian's server, or the current one, which `testing/nats/install` builds. */
export type NatsProgram = Extract<ServerName, 'nats-server' | 'nats-server-2.15'>

export interface NatsOptions {
  readonly port?: number
  /** Where the streams are kept; give the same folder to a second start to keep them. */
  readonly folder?: string
  /** Default `nats-server`. */
  readonly program?: NatsProgram
  /** Further lines of its configuration file. */
  readonly config?: readonly string[]
}

/** A nats-server whose configuration may change while it runs. */
export interface NatsServer extends Server {
  /** Replaces the further lines of its configuration file, and has it read the file again. */
  reconfigure(config: readonly string[]): void
}

/** Starts nats-server with JetStream on a free port. */
export async function startNats(options: NatsOptions = {}): Promise<NatsServer> {
  const program = requireProgram(options.program ?? 'nats-server')
  const port = options.port ?? (await freePort())
  const folder = temporaryFolder('nats')
  const lines = [`listen: 127.0.0.1:${port}`, `jetstream { store_dir: ${JSON.stringify(options.folder ?? folder)} }`]
  const file = join(folder, 'nats.conf')
  const write = (config: readonly string[]) => writeFileSync(file, `${[...lines, ...config].join('\n')}\n`)
  write(options.config ?? [])
  const url = `nats://127.0.0.1:${port}`
  const server = await startServer({ program, args: ['--config', file], port, folder, url })
  return {
    ...server,
    reconfigure(config) {
      write(config)
      server.process.kill('SIGHUP')
    },
  }
}
