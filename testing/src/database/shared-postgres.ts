import { Socket } from 'node:net'
import type { Server } from '../server.ts'
import { startPostgres } from './postgres.ts'

let shared: Promise<Server> | undefined

/**
 * The PostgreSQL of this process, for tests that make databases of their own in it and leave the server itself alone: to
 * start one takes as long as most of them do. To stop it is to give it back; it ends with the process.
 */
export function sharedPostgres(): Promise<Server> {
  shared ??= start().catch((error) => {
    shared = undefined
    throw error
  })
  return shared
}

async function start(): Promise<Server> {
  const server = await startPostgres()
  const { process: child } = server
  // Before the folders of this process are removed, the server's among them.
  process.prependOnceListener('exit', () => child.kill('SIGKILL'))
  child.unref()
  for (const stream of [child.stdout, child.stderr]) if (stream instanceof Socket) stream.unref()
  return { url: server.url, port: server.port, process: child, stop: async () => {} }
}
