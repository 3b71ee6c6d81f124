import { type ChildProcess, spawn } from 'node:child_process'
import { join, resolve } from 'node:path'
import { after } from 'node:test'
import { briefly, freePort } from '@gatehouse/testing'
import { migratedDataDir } from './data-dir.ts'

export const root = resolve(import.meta.dirname, '../../../..')

const running = new Set<ChildProcess>()

/** A test that failed leaves nothing running behind it. */
function killAll(): void {
  for (const child of running) child.kill('SIGKILL')
}
after(killAll)
process.once('exit', killAll)

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** The program as its user runs it: a process of its own, known by what it prints and answers. */
export interface Program {
  readonly url: string
  /** Where its metrics are, when they were asked for. */
  readonly metricsUrl: string
  readonly dataDir: string
  readonly process: ChildProcess
  readonly ended: Promise<Ended>
  stdout(): string
  /** Resolves once the first `text` has been printed; rejects when the program ends before. */
  printed(text: string): Promise<void>
  stop(signal?: NodeJS.Signals): Promise<Ended>
}

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly port?: number
  readonly dataDir?: string
  /** Serves metrics without a credential, on a listener of their own. Default false. */
  readonly metrics?: boolean
  /** The folder of the program's source, when it is another version of it. */
  readonly source?: string
  /** Where it runs. Default: the folder of its source, which has a file. */
  readonly cwd?: string
}

/** Starts the program without waiting for it, on a free port, with empty tables, unless told otherwise. */
export async function launch(options: ProgramOptions = {}): Promise<Program> {
  const port = options.port ?? (await freePort())
  const metricsPort = options.metrics ? await freePort() : 0
  const dataDir = options.dataDir ?? (await migratedDataDir())
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    PORT: String(port),
    DATA_DIR: dataDir,
    LOG_LEVEL: 'warn',
    ...(options.metrics ? { METRICS_PORT: String(metricsPort) } : {}),
    ...options.env,
  }
  const source = options.source ?? root
  const main = join(source, 'apps/gatehouse/src/main.ts')
  const child = spawn(process.execPath, [...briefly, main], {
    cwd: options.cwd ?? source,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output.stderr += text
  })
  const ended = new Promise<Ended>((done) => child.once('close', (code, signal) => done({ code, signal, ...output })))
  running.add(child)
  child.once('exit', () => running.delete(child))
  return {
    url: `http://localhost:${port}`,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    dataDir,
    process: child,
    ended,
    stdout: () => output.stdout,
    printed(text) {
      if (output.stdout.includes(text)) return Promise.resolve()
      return new Promise((found, lost) => {
        child.stdout.on('data', () => output.stdout.includes(text) && found())
        void ended.then(({ code, stderr }) => lost(new Error(`ended with ${code} before printing ${text}: ${stderr}`)))
      })
    },
    stop(signal = 'SIGTERM') {
      child.kill(signal)
      return ended
    },
  }
}

/** Starts the program and waits until it says that it is ready. */
export async function started(options: ProgramOptions = {}): Promise<Program> {
  const program = await launch(options)
  await program.printed('is ready after')
  return program
}
