import type { Client } from 'pg'
import type { Log } from '../log.ts'
import { endConnection } from './connections.ts'

/** Handlers of `NOTIFY`. A notification is a hint that rows changed, not the change itself. */
export interface ListenHandlers {
  onNotification(payload: string): void
  /** Called when notifications may have been missed: when listening begins, and when it resumes after a break. */
  onGap(): void
}

const pingMs = 15_000
const maxPauseMs = 5_000

/**
 * Listens to a channel on a connection of its own until it is stopped. A connection that breaks or stops answering is
 * replaced. `make` returns a client that is not connected yet.
 */
export function keepListening(
  make: () => Client,
  channel: string,
  hearing: ListenHandlers,
  log: Log,
): () => Promise<void> {
  const stopping = new AbortController()
  const loop = async () => {
    for (let failures = 0; !stopping.signal.aborted; ) {
      const client = make()
      const broken = new AbortController()
      client.on('error', (error) => broken.abort(error))
      client.on('end', () => broken.abort(new Error('the connection ended')))
      client.on('notification', ({ payload }) => hearing.onNotification(payload ?? ''))
      const ended = AbortSignal.any([stopping.signal, broken.signal])
      try {
        await client.connect()
        await client.query(`LISTEN ${channel}`)
        failures = 0
        hearing.onGap()
        while (!ended.aborted) {
          await pause(pingMs, ended)
          if (!ended.aborted) await client.query('SELECT 1')
        }
        if (!stopping.signal.aborted) throw broken.signal.reason
      } catch (error) {
        failures++
        log.warn({ err: error, channel }, 'listening to the database was interrupted')
        await pause(Math.min(maxPauseMs, 50 * 2 ** failures) * (0.5 + Math.random() / 2), stopping.signal)
      }
      await endConnection(client)
    }
  }
  const done = loop()
  return () => {
    stopping.abort()
    return done
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds)
    signal.addEventListener('abort', done)
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    if (signal.aborted) done()
  })
}
