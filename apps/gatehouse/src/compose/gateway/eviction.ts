import type { Log } from '@gatehouse/kit'
import { Cluster, type Redis } from 'ioredis'

/** What a server does at the end of its memory. */
interface Memory {
  readonly policy: string
  /** Whether there is such an end. */
  readonly bounded: boolean
}

/**
 * Warns when the counter store evicts keys, each time it is connected: an evicted counter is a limit that begins again,
 * which those of signing in must not.
 */
export function watchEviction(client: Redis | Cluster, show: (mayEvict: boolean) => void, log: Log): void {
  client.on('ready', () => void look(client, show, log))
}

async function look(client: Redis | Cluster, show: (mayEvict: boolean) => void, log: Log): Promise<void> {
  const servers = client instanceof Cluster ? client.nodes('master') : [client]
  const answers = await Promise.all(servers.map((server) => memoryOf(server).catch(() => undefined)))
  const evicting = answers.find((memory) => memory?.bounded && memory.policy !== 'noeviction')
  if (evicting) {
    const { policy } = evicting
    log.warn({ policy }, 'the counter store evicts keys; limits that fail closed need maxmemory-policy noeviction')
  } else if (answers.includes(undefined)) {
    log.info('the counter store does not say what it evicts; limits that fail closed need maxmemory-policy noeviction')
    return
  }
  show(evicting !== undefined)
}

/** By INFO, which tells as much as CONFIG GET and is more often allowed. */
async function memoryOf(server: Redis): Promise<Memory | undefined> {
  const info = await server.info('memory')
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
  return policy === undefined ? undefined : { policy, bounded: !/^maxmemory:0\s*$/m.test(info) }
}
