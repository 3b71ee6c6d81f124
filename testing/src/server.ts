import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { accessSync, constants, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'

/** A real server that a test or a race started for itself. */
export interface Server {
  readonly url: string
  readonly port: number
  /** The server's process, for tests that pause or kill it. */
  readonly process: ChildProcess
  /** Ends the server and removes its folder. */
  stop(): Promise<void>
}

export type ServerName =
  | 'postgresql'
  | 'citus'
  | 'pgbouncer'
  | 'redis-server'
  | 'valkey-server'
  | 'nats-server'
  | 'nats-server-2.15'
  | 'chromium'
  | 'postfix'
  | 'python3-dkim'
  | 'libapache2-mod-auth-openidc'
  | 'schemathesis'
  | 'buildah'
  | 'mmdebstrap'
  | 'curl'
  | Toolchain

/** What compiles or runs a language other than ours. */
export type Toolchain = 'deno' | 'bun' | 'python3' | 'go' | 'javac' | 'php' | 'dotnet'

const debianPostgres = '/usr/lib/postgresql'

/**
 * Where a server's program is: on the PATH, where Debian puts PostgreSQL's, or where the installers of this package put
 * theirs; undefined when it isn't installed.
 */
export function findProgram(program: string): string | undefined {
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    '/usr/sbin',
    ...installed.map((folder) => join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), folder)),
    ...postgresFolders(),
  ]
  return folders.map((folder) => join(folder, program)).find(isExecutable)
}

/** Below the user's cache: where the installers of this package put programs. */
const installed = ['gatehouse/schemathesis/bin', 'gatehouse/nats/bin', 'gatehouse/runtimes/bin']

function postgresFolders(): string[] {
  try {
    return readdirSync(debianPostgres)
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => join(debianPostgres, version, 'bin'))
  } catch {
    return []
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const programs: Readonly<Record<ServerName, string>> = {
  postgresql: 'initdb',
  citus: 'initdb',
  pgbouncer: 'pgbouncer',
  'redis-server': 'redis-server',
  'valkey-server': 'valkey-server',
  'nats-server': 'nats-server',
  'nats-server-2.15': 'nats-server-2.15',
  chromium: 'chromium',
  'libapache2-mod-auth-openidc': 'apache2',
  postfix: 'postfix',
  'python3-dkim': 'dkimverify',
  schemathesis: 'schemathesis',
  buildah: 'buildah',
  mmdebstrap: 'mmdebstrap',
  deno: 'deno',
  bun: 'bun',
  python3: 'python3',
  go: 'go',
  javac: 'javac',
  php: 'php',
  dotnet: 'dotnet',
  curl: 'curl',
}

/** Whether a server can be started. */
export function isInstalled(name: ServerName): boolean {
  return findProgram(programs[name]) !== undefined && (name !== 'citus' || hasExtension('citus'))
}

/** Whether the PostgreSQL that tests start has an extension. */
function hasExtension(name: string): boolean {
  const config = findProgram('pg_config')
  if (config === undefined) return false
  const folder = execFileSync(config, ['--sharedir'], { encoding: 'utf8' }).trim()
  return existsSync(join(folder, 'extension', `${name}.control`))
}

/** Servers that change to users of their own, and what mounts file systems. */
const needRoot: ReadonlySet<ServerName> = new Set(['postfix', 'buildah'])

/** What Debian 12 has no package of, or one that is too old: without it its tests are skipped whatever is required. */
const unpackaged: ReadonlySet<ServerName> = new Set<ServerName>(['valkey-server', 'citus', 'go', 'dotnet'])

/** How servers are installed that are not a package of their own name. */
const installers: Readonly<Partial<Record<ServerName, string>>> = {
  schemathesis: 'testing/schemathesis/install',
  'nats-server-2.15': 'testing/nats/install',
  deno: 'testing/runtimes/install',
  bun: 'testing/runtimes/install',
  javac: 'apt-get install default-jdk-headless',
  php: 'apt-get install php-cli',
  go: 'a Go that builds nats-server',
  dotnet: 'the SDK of .NET 8, which Debian has no package of',
  citus: 'build Citus 13 for this PostgreSQL',
}

/** How a server is installed. */
export const howToInstall = (name: ServerName): string => installers[name] ?? `apt-get install ${name}`

/** What a skipped test says; the runner counts these and tells how many tests wait for which server. */
export const waitsFor = (name: ServerName): string => `waits for ${name} (${howToInstall(name)})`

/**
 * A test that needs a real server. Without the server it is skipped, saying so; with `REQUIRE_SERVICES=1` in the
 * environment it fails instead, where every system has a package of that server.
 */
export function testWith(name: ServerName, title: string, body: (t: TestContext) => Promise<void> | void): void {
  const installed = isInstalled(name)
  if (needRoot.has(name) && process.getuid?.() !== 0) test(title, { skip: `only root may start ${name}` }, () => {})
  else if (installed) test(title, body)
  else if (process.env.REQUIRE_SERVICES === '1' && !unpackaged.has(name))
    test(title, () => Promise.reject(new Error(`${name} is not installed: ${howToInstall(name)}`)))
  else test(title, { skip: waitsFor(name) }, () => {})
}

/** A test that needs several servers, as {@link testWith}: what is said is about the first that is missing. */
export function testWithAll(
  names: readonly ServerName[],
  title: string,
  body: (t: TestContext) => Promise<void> | void,
): void {
  const [missing] = names.filter((name) => !isInstalled(name))
  testWith(missing ?? names[0] ?? 'postgresql', title, body)
}

/** The path of a server's program. Throws in one line what to install when it is missing. */
export function requireProgram(name: ServerName, program: string = programs[name]): string {
  const path = findProgram(program)
  if (path === undefined) throw new Error(`${program} is missing: ${howToInstall(name)}`)
  return path
}

/** Below the ports that systems give to connections, so that none takes one before who asked for it listens. */
// Above 10 080, which `fetch` and browsers refuse.
const ephemeralPorts = { from: 10_081, to: 32_000 }

/** A TCP port that nothing listens on at this moment. */
export async function freePort(): Promise<number> {
  for (let attempts = 0; attempts < 100; attempts++) {
    const port = ephemeralPorts.from + Math.floor(Math.random() * (ephemeralPorts.to - ephemeralPorts.from))
    if (await canListen(port)) return port
  }
  throw new Error('no port is free')
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}

const folders: string[] = []
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
})

/** A fresh temporary folder, gone when this process ends. */
export function temporaryFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${prefix}-`))
  folders.push(folder)
  return folder
}

export interface StartOptions {
  readonly program: string
  readonly args: readonly string[]
  readonly port: number
  readonly url: string
  readonly folder: string
  readonly uid?: number
  readonly gid?: number
}

/** Starts a server and resolves once it accepts connections. Rejects with what it printed when it ends before that. */
export async function startServer(options: StartOptions): Promise<Server> {
  const { program, args, port, url, folder, uid, gid } = options
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: folder,
    ...(uid !== undefined && gid !== undefined ? { uid, gid } : {}),
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      printed = `${printed}${chunk}`.slice(-4_000)
    })
  }
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const killAtExit = () => child.kill('SIGKILL')
  process.once('exit', killAtExit)
  await accepting(port, child, () => printed)
  return {
    url,
    port,
    process: child,
    async stop() {
      process.removeListener('exit', killAtExit)
      child.kill('SIGCONT')
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const startDeadlineMs = 30_000

async function accepting(port: number, child: ChildProcess, printed: () => string): Promise<void> {
  const deadline = Date.now() + startDeadlineMs
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended before it was ready: ${printed()}`)
    if (Date.now() > deadline) throw new Error(`${child.spawnfile} was not ready in 30 s: ${printed()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
