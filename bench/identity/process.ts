import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Pace } from '../benchmark.ts'
import type { Ready, Start } from './protocol.ts'

/** A candidate in a process of its own. */
export interface TokenServer extends Ready, AsyncDisposable {
  /** Processor time of all its threads since the last question, in microseconds. */
  cpu(): Promise<number>
}

export async function startTokenServer(file: 'ours.ts' | 'baseline.ts', start: Start): Promise<TokenServer> {
  const child: ChildProcess = fork(join(import.meta.dirname, file), [JSON.stringify(start)])
  const [ready] = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [])])
  if (!ready) throw new Error(`${file} ended before it was ready`)
  return {
    ...(ready as Ready),
    async cpu() {
      child.send('cpu')
      return (await once(child, 'message'))[0]
    },
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill()
      await ended
    },
  }
}

/** The pace of a candidate over some work that answers how much it did. */
export async function measureServer(server: TokenServer, work: () => Promise<number>): Promise<Pace> {
  await server.cpu()
  const begun = performance.now()
  const count = await work()
  const seconds = (performance.now() - begun) / 1_000
  return { perSecond: count / seconds, perCoreSecond: count / ((await server.cpu()) / 1_000_000) }
}

/** A raw GET, for a kept-alive connection. */
export function rawGet(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
}

/** A raw POST of a form, for a kept-alive connection. */
export function rawForm(path: string, form: Record<string, string>): string {
  const body = new URLSearchParams(form).toString()
  const type = 'application/x-www-form-urlencoded'
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}
