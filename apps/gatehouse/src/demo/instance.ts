import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

/** A running program. */
export interface Instance {
  readonly url: string
  readonly process: ChildProcess
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>
}

/** How the program of the demo is started. */
export interface InstanceOptions {
  readonly port: number
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Starts the program in a process of its own, and resolves once it says that it is ready. */
export async function startInstance({ port, env }: InstanceOptions): Promise<Instance> {
  const main = join(import.meta.dirname, '../main.ts')
  const child = spawn(process.execPath, [main], {
    env: { ...env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  process.once('exit', () => child.kill('SIGKILL'))
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)
    process.once(signal, () => process.exit(code))
  const ready = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => text.includes('is ready after') && resolve())
  })
  const failed = ended.then((code) => Promise.reject(new Error(`the program ended with ${code} before it was ready`)))
  await Promise.race([ready, failed])
  failed.catch(() => {})
  return { url: `http://localhost:${port}`, process: child, ended }
}
