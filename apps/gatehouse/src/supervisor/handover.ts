import type { Worker } from 'node:cluster'
import { nextTick } from 'node:process'

/** The messages by which node:cluster hands a connection to a worker, and by which the worker answers. */
interface ClusterMessage {
  readonly cmd?: string
  readonly act?: string
  readonly key?: string
  readonly seq?: number
  readonly ack?: number
  readonly accepted?: boolean
  readonly errno?: number | null
}

interface Connection {
  close(): void
}

/** The workers that share a listening socket: when the last one leaves it is closed, and the next one opens another. */
type Sharers = Set<Worker>

/**
 * Answers for connections where node:cluster alone would let the client wait for ever. It waits for the answer of a worker
 * that died, or that had no file descriptor left for the connection, and keeps connections for a listening socket that is
 * closed. This relies on its messages: where a version of Node has others, nothing is answered, and a test says so.
 */
export class Handover {
  /** By the key of the listening socket. */
  readonly #sharers = new Map<string, Sharers>()

  /** Watches over the connections that a worker is sent, from its start. */
  watch(worker: Worker): void {
    const { process } = worker
    // It has no channel when the system had no room for it, and never begins.
    if (!process.send) return
    const connections = new SentConnections(worker)
    const send = process.send.bind(process) as (...sent: unknown[]) => boolean
    process.send = (...sent: unknown[]) => {
      const [message, connection] = sent as [ClusterMessage | null, Connection]
      const { cmd, act, key, seq, ack, errno } = message ?? {}
      if (cmd === 'NODE_CLUSTER' && key !== undefined) {
        const sharers = this.#sharersOf(key)
        if (ack !== undefined && !errno) sharers.add(worker)
        if (act === 'newconn' && seq !== undefined) connections.add(seq, { connection, sharers })
      }
      return send(...sent)
    }
    process.on('internalMessage', (message: ClusterMessage) => {
      if (message.act === 'close' && message.key !== undefined) this.#leave(worker, message.key)
      connections.receive(message)
    })
    let isDisconnected = false
    process.once('disconnect', () => {
      isDisconnected = true
      for (const key of [...this.#sharers.keys()]) this.#leave(worker, key)
    })
    // What it sent before its end is received before this.
    process.once('close', () =>
      nextTick(() => {
        // Node leaves it out where the worker had not yet received a connection, and goes on to count on that worker.
        if (!isDisconnected) process.emit('disconnect')
        connections.reject()
      }),
    )
  }

  #sharersOf(key: string): Sharers {
    const sharers = this.#sharers.get(key) ?? new Set()
    this.#sharers.set(key, sharers)
    return sharers
  }

  #leave(worker: Worker, key: string): void {
    const sharers = this.#sharers.get(key)
    if (sharers?.delete(worker) && sharers.size === 0) this.#sharers.delete(key)
  }
}

interface Sent {
  readonly connection: Connection
  readonly sharers: Sharers
}

/** The connections that a worker was sent and has not answered. */
class SentConnections {
  readonly #process: Worker['process']
  /** By the number of the message. */
  readonly #open = new Map<number, Sent>()
  /** Those not yet known to be received, in their order. */
  readonly #unreceived: number[] = []

  constructor({ process }: Worker) {
    this.#process = process
  }

  add(seq: number, sent: Sent): void {
    this.#open.set(seq, sent)
    this.#unreceived.push(seq)
  }

  receive({ cmd, ack, accepted }: ClusterMessage): void {
    if (cmd === 'NODE_HANDLE_ACK') this.#unreceived.shift()
    if (cmd === 'NODE_HANDLE_NACK') {
      const lost = this.#unreceived.shift()
      // Accepted, so it is closed: others may have no descriptor left either, and would pass it on for ever.
      if (lost !== undefined) this.#answer(lost, true)
    }
    if (ack === undefined) return
    const sent = this.#open.get(ack)
    this.#open.delete(ack)
    // Nobody accepts for the socket that it came by.
    if (accepted === false && sent?.sharers.size === 0) sent.connection.close()
  }

  /** Answers all that are left: the worker does not accept them. */
  reject(): void {
    for (const seq of [...this.#open.keys()]) this.#answer(seq, false)
  }

  #answer(ack: number, accepted: boolean): void {
    this.#process.emit('internalMessage' as 'message', { cmd: 'NODE_CLUSTER', ack, accepted }, undefined)
  }
}
