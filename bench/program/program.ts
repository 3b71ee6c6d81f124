import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const main = join(import.meta.dirname, '../../apps/gatehouse/src/main.ts')

/** The whole program, as its user runs it. */
export interface Program extends AsyncDisposable {
  readonly url: string
  readonly pid: number
}

/** Starts the program with these settings and resolves once it is ready. */
export async function startProgram(port: number, env: Readonly<Record<string, string>>): Promise<Program> {
  const { PATH, HOME } = process.env
  const child = spawn(process.execPath, [main], {
    env: { PATH, HOME, LOG_LEVEL: 'error', PORT: String(port), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  await new Promise<void>((ready, failed) => {
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text
      if (printed.includes('is ready after')) ready()
    })
    void ended.then(() => failed(new Error(`the program ended before it was ready: ${printed}`)))
  })
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill()
      await ended
    },
  }
}
