import { execFileSync } from 'node:child_process'
import { chownSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { freePort, requireProgram, type Server, startServer, temporaryFolder } from './server.ts'
import { unprivileged } from './unprivileged.ts'

export interface PostgresOptions {
  readonly port?: number
  /** Further settings such as `fsync=on`. By default the server does not fsync: tests need no durability. */
  readonly settings?: readonly string[]
}

/** Starts PostgreSQL with a fresh cluster on a free port, as an unprivileged user when this process is root. */
export async function startPostgres(options: PostgresOptions = {}): Promise<Server> {
  const initdb = requireProgram('postgresql', 'initdb')
  const port = options.port ?? (await freePort())
  const folder = temporaryFolder('postgres')
  const owner = unprivileged(['postgres', 'nobody'])
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  const args = ['-D', data, '-U', 'gatehouse', '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync']
  execFileSync(initdb, args, { stdio: 'pipe', cwd: folder, ...owner })
  const settings = ['fsync=off', 'listen_addresses=127.0.0.1', 'max_connections=200', ...(options.settings ?? [])]
  const server = await startServer({
    program: requireProgram('postgresql', 'postgres'),
    args: ['-D', data, '-p', String(port), '-k', folder, ...settings.flatMap((setting) => ['-c', setting])],
    port,
    folder,
    url: `postgres://gatehouse@127.0.0.1:${port}/postgres`,
    ...owner,
  })
  await answering(server.url)
  return server
}

/** It accepts connections before it answers queries. */
async function answering(url: string): Promise<void> {
  for (let tries = 0; tries < mostTries; tries++) {
    const client = new pg.Client({ connectionString: url })
    try {
      await client.connect()
      await client.end()
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  throw new Error('PostgreSQL started and does not answer')
}

const mostTries = 200
