import type { Socket } from 'node:net'
import type { Client, Pool, PoolClient } from 'pg'
import { isSilent, isUnavailable } from './error.ts'

/** The connections of a pool, each given back after its use, or discarded where it can't be trusted any more. */
export interface Connections {
  /**
   * Runs `work` on a connection; `discard` says that the connection must not be used again. When `signal` aborts, the
   * connection is closed, whatever is under way on it.
   */
  use<T>(work: (client: PoolClient, discard: () => void) => Promise<T>, signal?: AbortSignal): Promise<T>
}

/**
 * Connections that answer. A network that drops packets silences every connection at once, and each would cost a
 * time-out of its own: where one did not answer, those as old as it are replaced before they are used again.
 */
export function trustedConnections(pool: Pool): Connections {
  const openedAt = new WeakMap<PoolClient, number>()
  let silentAt = Number.NEGATIVE_INFINITY
  pool.on('connect', (client) => {
    openedAt.set(client, performance.now())
    // The pool hands a connection over with no listener, and a server that ends it in the packet that opened it is heard
    // before we have ours: an error that nobody hears ends the process. Whoever uses it gets it as their statement's.
    client.on('error', () => {})
  })

  const acquire = async (): Promise<PoolClient> => {
    for (;;) {
      const client = await pool.connect()
      if ((openedAt.get(client) ?? 0) > silentAt) return client
      client.release(true)
    }
  }

  return {
    async use(work, signal) {
      const client = await acquire()
      if (signal?.aborted) {
        // Nothing was sent on it: whatever the reason says of the database, the connection is not concerned.
        client.release()
        throw signal.reason
      }
      let isBroken = false
      const discard = () => {
        isBroken = true
      }
      const abort = () => {
        discard()
        closeNow(client)
      }
      client.on('error', discard)
      signal?.addEventListener('abort', abort)
      try {
        return await work(client, discard)
      } catch (error) {
        if (isUnavailable(error)) discard()
        if (isSilent(error)) {
          silentAt = performance.now()
          closeNow(client)
        }
        throw error
      } finally {
        signal?.removeEventListener('abort', abort)
        client.off('error', discard)
        client.release(isBroken)
      }
    },
  }
}

/** How long a server may take to confirm the end of a connection, in milliseconds. */
const endMs = 1_000

/** Ends a connection. One whose server says nothing more is closed. */
export async function endConnection(client: Client): Promise<void> {
  const timer = setTimeout(() => closeNow(client), endMs)
  await client.end().catch(() => {})
  clearTimeout(timer)
}

/** Closes a connection without waiting for answers to what was sent on it, as node-postgres would: they may never come. */
function closeNow(client: PoolClient | Client): void {
  const { stream } = (client as unknown as { connection: { stream: Partial<Socket> } }).connection
  stream.destroy?.()
}
