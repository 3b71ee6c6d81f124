import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort, requireProgram, type Server, startServer, temporaryFolder } from '../server.ts'
import { type RedisOptions, startRedis } from './redis.ts'

const run = promisify(execFile)
const giveUpMs = 30_000

/** Asks a server as redis-cli does; answers what it prints. */
export async function askRedis(port: number, ...words: readonly string[]): Promise<string> {
  const cli = requireProgram('redis-server', 'redis-cli')
  return (await run(cli, ['-p', String(port), ...words], { timeout: giveUpMs })).stdout.trim()
}

async function until(what: string, done: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + giveUpMs
  while (!(await done())) {
    if (performance.now() > giveUpAt) throw new Error(`${what} never came`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/**
 * Three primaries of a Redis Cluster, each with so many replicas. Without replicas what is left of them goes on serving its
 * slots; with them a replica takes the place of a primary that was silent for half a second.
 */
export async function startRedisCluster({ replicas = 0 }: { readonly replicas?: number } = {}): Promise<{
  readonly servers: readonly Server[]
  stop(): Promise<void>
}> {
  const count = 3 * (1 + replicas)
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const busPort = String(await freePort())
      const cluster = ['--cluster-enabled', 'yes', '--cluster-require-full-coverage', 'no']
      return startRedis({ args: [...cluster, '--cluster-node-timeout', '500', '--cluster-port', busPort] })
    }),
  )
  const stop = async () => {
    for (const server of servers) await server.stop()
  }
  const addresses = servers.map(({ port }) => `127.0.0.1:${port}`)
  const options = ['--cluster-replicas', String(replicas), '--cluster-yes']
  await askRedis(servers[0]?.port ?? 0, '--cluster', 'create', ...addresses, ...options)
  for (const { port } of servers) {
    await until('a whole cluster', async () => {
      const info = await askRedis(port, 'cluster', 'info')
      return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${count}`)
    })
    await until('replicas in step', async () => {
      const info = await askRedis(port, 'info', 'replication')
      return info.includes('role:master') || info.includes('master_link_status:up')
    })
  }
  return { servers, stop }
}

export interface SentinelGroup {
  readonly name: string
  readonly primary: Server
  readonly replica: Server
  readonly sentinels: readonly Server[]
  /** Where the Sentinels say the primary is. */
  primaryPort(): Promise<number>
  stop(): Promise<void>
}

/** A primary, its replica and three Sentinels that give a silent primary half a second. */
export async function startSentinelGroup(name = 'mymaster'): Promise<SentinelGroup> {
  const options: RedisOptions = { args: ['--repl-diskless-sync-delay', '0'] }
  const primary = await startRedis(options)
  const of = ['--replicaof', '127.0.0.1', String(primary.port)]
  const replica = await startRedis({ args: [...(options.args ?? []), ...of] })
  await until('a replica in step', async () =>
    (await askRedis(replica.port, 'info', 'replication')).includes('master_link_status:up'),
  )
  const sentinels = await Promise.all([1, 2, 3].map(() => startSentinel(name, primary.port)))
  for (const { port } of sentinels) {
    await until('Sentinels that know each other', async () => {
      const seen = await askRedis(port, 'info', 'sentinel')
      return seen.includes('slaves=1,sentinels=3')
    })
  }
  return {
    name,
    primary,
    replica,
    sentinels,
    async primaryPort() {
      const reply = await askRedis(sentinels[0]?.port ?? 0, 'sentinel', 'get-master-addr-by-name', name)
      return Number(reply.split('\n')[1])
    },
    async stop() {
      for (const server of [...sentinels, replica, primary]) await server.stop()
    },
  }
}

async function startSentinel(name: string, primaryPort: number): Promise<Server> {
  const folder = temporaryFolder('sentinel')
  const port = await freePort()
  const file = join(folder, 'sentinel.conf')
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${name} 127.0.0.1 ${primaryPort} 2`,
    `sentinel down-after-milliseconds ${name} 500`,
    `sentinel failover-timeout ${name} 5000`,
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  const program = requireProgram('redis-server')
  return startServer({ program, args: [file, '--sentinel'], port, folder, url: `redis://127.0.0.1:${port}` })
}
