import type { Worker } from 'node:cluster'

/** The messages by which node:cluster hands a connection to a worker, and by which the worker answers. */
interface ClusterMessage {
  readonly cmd?: string
  readonly act?: string
  readonly seq?: number
  readonly ack?: number
}

/**
 * Hands connections that a worker died with, before it took them, to another worker. By itself node:cluster waits for the
 * answer of the dead one, and the client waits with it. This relies on its messages: where a version of Node has others,
 * nothing is handed over again, and a test says so.
 */
export function rescueConnections(worker: Worker): void {
  const { process } = worker
  // It has no channel when the system had no room for it, and never begins.
  if (!process.send) return
  const open = new Set<number>()
  const send = process.send.bind(process) as (...sent: unknown[]) => boolean
  process.send = (...sent: unknown[]) => {
    const { cmd, act, seq } = (sent[0] ?? {}) as ClusterMessage
    if (cmd === 'NODE_CLUSTER' && act === 'newconn' && seq !== undefined) open.add(seq)
    return send(...sent)
  }
  process.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) open.delete(ack)
  })
  const rescue = () => {
    for (const ack of open)
      process.emit('internalMessage' as 'message', { cmd: 'NODE_CLUSTER', ack, accepted: false }, undefined)
  }
  process.once('exit', () => {
    if (process.connected) process.once('disconnect', rescue)
    else rescue()
  })
}
