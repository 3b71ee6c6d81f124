import { type ChildProcess, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import pg from 'pg'
import { freePort, requireProgram, type Server, startServer, temporaryFolder } from '../server.ts'
import { type Owner, unprivileged } from '../unprivileged.ts'

export interface PostgresOptions {
  readonly port?: number
  /** Further settings such as `fsync=on`. By default the server does not fsync: tests need no durability. */
  readonly settings?: readonly string[]
}

export interface PostgresServer extends Server {
  /** Ends it as `pg_ctl stop --mode immediate` does. */
  crash(): Promise<void>
  /** Starts it on what is on the disk: it recovers from its log. */
  recover(): Promise<void>
  /** Both, one after the other. */
  restartImmediately(): Promise<void>
  /** Stops all of its processes where they are: it accepts connections, as the kernel does, and answers nothing. */
  freeze(): void
  /** Has them go on. */
  thaw(): void
}

/** Starts PostgreSQL with a fresh cluster on a free port, as an unprivileged user when this process is root. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const initdb = requireProgram('postgresql', 'initdb')
  const port = options.port ?? (await freePort())
  const folder = temporaryFolder('postgres')
  const owner = unprivileged(['postgres', 'nobody'])
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  copy(freshCluster(initdb, owner), data)
  const settings = ['fsync=off', 'listen_addresses=127.0.0.1', 'max_connections=200', ...(options.settings ?? [])]
  const url = `postgres://gatehouse@127.0.0.1:${port}/postgres`
  const start = async () => {
    const started = await startServer({
      program: requireProgram('postgresql', 'postgres'),
      args: ['-D', data, '-p', String(port), '-k', folder, ...settings.flatMap((setting) => ['-c', setting])],
      port,
      folder,
      url,
      ...owner,
    })
    await answering(url)
    return started
  }
  let server = await start()
  const crash = async () => {
    const ended = once(server.process, 'exit')
    server.process.kill('SIGQUIT')
    await ended
  }
  const recover = async () => {
    server = await start()
  }
  let isFrozen = false
  const thaw = () => {
    if (isFrozen) signalAll(server.process, 'SIGCONT')
    isFrozen = false
  }
  return {
    url,
    port,
    get process() {
      return server.process
    },
    async stop() {
      thaw()
      await server.stop()
    },
    freeze() {
      isFrozen = true
      signalAll(server.process, 'SIGSTOP')
    },
    thaw,
    crash,
    recover,
    async restartImmediately() {
      await crash()
      await recover()
    },
  }
}

/** With the owners of its files. */
const copy = (from: string, to: string): unknown => execFileSync('cp', ['-a', from, to])

let cluster: string | undefined
/** Signals a server and the processes that it has started, first itself, so that it starts no more. Linux alone. */
function signalAll({ pid, exitCode, signalCode }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  const children = () =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  for (const each of [pid, ...children()])
    try {
      process.kill(each, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
}

/** A cluster to be copied: making one takes a second, so a machine keeps what it made with this very program. */
function freshCluster(initdb: string, owner: Owner | undefined): string {
  cluster ??= keptCluster(initdb, owner)
  return cluster
}

function keptCluster(initdb: string, owner: Owner | undefined): string {
  const version = execFileSync(initdb, ['--version'], { encoding: 'utf8' })
  // The log in small segments: an empty one of the default size is half of what a copy copies.
  const settings = ['-U', 'gatehouse', '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--wal-segsize=4']
  const made = `${initdb} ${version} ${settings.join(' ')} ${owner?.uid}`
  const kept = join(clusters, `postgres-${createHash('sha256').update(made).digest('hex').slice(0, 16)}`)
  if (existsSync(kept)) return kept
  const folder = temporaryFolder('initdb')
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  execFileSync(initdb, ['-D', data, ...settings, '--no-sync'], { stdio: 'pipe', cwd: folder, ...owner })
  const mine = `${kept}.${process.pid}`
  copy(data, mine)
  try {
    renameSync(mine, kept)
  } catch (error) {
    if (!existsSync(kept)) throw error
    rmSync(mine, { recursive: true })
  }
  return kept
}

const clusters = resolve(import.meta.dirname, '../../../node_modules/.cache')

/** It accepts connections before it answers queries. */
async function answering(url: string): Promise<void> {
  for (let attempts = 0; attempts < maxAttempts; attempts++) {
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

const maxAttempts = 200
