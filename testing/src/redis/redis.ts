import { freePort, requireProgram, type Server, startServer, temporaryFolder } from '../server.ts'

export interface RedisOptions {
  /** Default: Redis. */
  readonly server?: 'redis-server' | 'valkey-server'
  readonly port?: number
  readonly args?: readonly string[]
}

/** Starts redis-server, or Valkey, on a free port, keeping nothing on disk unless `args` says otherwise. */
export async function startRedis(options: RedisOptions = {}): Promise<Server> {
  const program = requireProgram(options.server ?? 'redis-server')
  const port = options.port ?? (await freePort())
  const folder = temporaryFolder('redis')
  const args = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    folder,
    ...(options.args ?? []),
  ]
  return startServer({ program, args, port, folder, url: `redis://127.0.0.1:${port}` })
}
