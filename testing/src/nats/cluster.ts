import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, requireProgram, type Server, startServer, temporaryFolder } from '../server.ts'
import type { NatsProgram } from './nats.ts'

/** One server of a {@link NatsCluster}. */
export interface NatsNode {
  readonly name: string
  readonly url: string
  /** Whether its process runs. */
  readonly isRunning: boolean
  readonly pid: number | undefined
  /** Ends it at once (SIGKILL), and resolves when it has. Its streams stay on disk. */
  kill(): Promise<void>
  /** Starts it again on its port and with its streams. */
  restart(): Promise<void>
}

/** Several servers of JetStream that replicate streams among them. */
export interface NatsCluster {
  /** All servers, with commas between. */
  readonly url: string
  readonly nodes: readonly NatsNode[]
  /** The server that leads a stream, once there is one. @throws after 60 seconds without a leader */
  leaderOf(stream: string): Promise<NatsNode>
  /** The server that leads all of them, which answers for streams that are listed, created or deleted. @throws as above */
  leader(): Promise<NatsNode>
  stop(): Promise<void>
}

export interface NatsClusterOptions {
  /** Default 3. */
  readonly size?: number
  /** Default `nats-server`. */
  readonly program?: NatsProgram
  /** Further lines of the configuration file of each. */
  readonly config?: readonly string[]
}

const giveUpMs = 60_000
const pollMs = 50

/** Starts a cluster of nats-servers with JetStream, and resolves once they have a leader among them. */
export async function startNatsCluster(options: NatsClusterOptions = {}): Promise<NatsCluster> {
  const { size = 3 } = options
  const places = await Promise.all(
    Array.from({ length: size }, async (_, index) => ({
      name: `nats-${index + 1}`,
      port: await freePort(),
      clusterPort: await freePort(),
      monitorPort: await freePort(),
    })),
  )
  const routes = places.map(({ clusterPort }) => `nats://127.0.0.1:${clusterPort}`)
  const nodes = places.map((place) => new ClusterNode(place, routes, options))
  await Promise.all(nodes.map((node) => node.restart()))
  await until('a cluster with a leader', async () => {
    const reports = await Promise.all(nodes.map((node) => node.report()))
    const isComplete = reports.every(
      (report) => report?.meta_cluster?.leader && report.meta_cluster.cluster_size === size,
    )
    // Until its leader has heard from each other, the cluster places no stream there: "peer offline".
    const areCurrent = reports.some((report) => countCurrent(report) === size - 1)
    const areHealthy = areCurrent && (await Promise.all(nodes.map((node) => node.isHealthy()))).every(Boolean)
    return isComplete && areHealthy ? true : undefined
  })
  return {
    url: nodes.map(({ url }) => url).join(','),
    nodes,
    leaderOf: (stream) => until(`a leader of ${stream}`, () => findLeader(nodes, stream)),
    leader: () =>
      until('a leader of all', async () => {
        const reports = await Promise.all(nodes.map((node) => node.report()))
        return agreedOn(nodes, new Set(reports.flatMap((report) => report?.meta_cluster?.leader ?? [])))
      }),
    async stop() {
      await Promise.all(nodes.map((node) => node.dispose()))
    },
  }
}

interface Place {
  readonly name: string
  readonly port: number
  readonly clusterPort: number
  readonly monitorPort: number
}

/** What `/jsz` answers, as far as it is used here. */
interface Report {
  readonly meta_cluster?: {
    readonly leader?: string
    readonly cluster_size?: number
    readonly replicas?: ReadonlyArray<{ readonly current?: boolean; readonly offline?: boolean }>
  }
  readonly account_details?: ReadonlyArray<{
    readonly stream_detail?: ReadonlyArray<{ readonly name: string; readonly cluster?: { readonly leader?: string } }>
  }>
}

/** How many others a server finds up to date; only the leader says so of all. */
const countCurrent = (report: Report | undefined): number =>
  (report?.meta_cluster?.replicas ?? []).filter(({ current, offline }) => current && !offline).length

class ClusterNode implements NatsNode {
  readonly name: string
  readonly url: string
  readonly #place: Place
  readonly #program: string
  readonly #config: string
  #server: Server | undefined

  constructor(place: Place, routes: readonly string[], { program = 'nats-server', config = [] }: NatsClusterOptions) {
    this.name = place.name
    this.url = `nats://127.0.0.1:${place.port}`
    this.#place = place
    this.#program = requireProgram(program)
    this.#config = [
      `server_name: ${place.name}`,
      // A stream may be placed on a server by its name.
      `server_tags: ["${place.name}"]`,
      `listen: 127.0.0.1:${place.port}`,
      `http: 127.0.0.1:${place.monitorPort}`,
      `jetstream { store_dir: ${JSON.stringify(temporaryFolder('nats-kept'))} }`,
      `cluster { name: gatehouse, listen: 127.0.0.1:${place.clusterPort}, routes: ${JSON.stringify(routes)} }`,
      ...config,
      '',
    ].join('\n')
  }

  get isRunning(): boolean {
    return this.#server !== undefined
  }

  get pid(): number | undefined {
    return this.#server?.process.pid
  }

  async restart(): Promise<void> {
    const folder = temporaryFolder('nats')
    const file = join(folder, 'nats.conf')
    writeFileSync(file, this.#config)
    const { port } = this.#place
    this.#server = await startServer({ program: this.#program, args: ['--config', file], port, folder, url: this.url })
  }

  async kill(): Promise<void> {
    const child = this.#server?.process
    this.#server = undefined
    if (!child) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async dispose(): Promise<void> {
    await this.#server?.stop()
    this.#server = undefined
  }

  /** What it says of its streams; undefined while it does not answer. */
  async report(): Promise<Report | undefined> {
    return (await this.#monitor('/jsz?accounts=true&streams=true'))?.json() as Promise<Report | undefined>
  }

  /** Whether it says that it is ready for JetStream. */
  async isHealthy(): Promise<boolean> {
    return (await this.#monitor('/healthz'))?.ok ?? false
  }

  async #monitor(path: string): Promise<Response | undefined> {
    if (!this.#server) return undefined
    return fetch(`http://127.0.0.1:${this.#place.monitorPort}${path}`).catch(() => undefined)
  }
}

/** The running server that all that know the stream call its leader. */
async function findLeader(nodes: readonly ClusterNode[], stream: string): Promise<NatsNode | undefined> {
  const reports = await Promise.all(nodes.map((node) => node.report()))
  const details = reports.flatMap((report) => report?.account_details ?? []).flatMap((each) => each.stream_detail ?? [])
  return agreedOn(nodes, new Set(details.filter(({ name }) => name === stream).map(({ cluster }) => cluster?.leader)))
}

/** The running server of that name, where only one was named. */
function agreedOn(nodes: readonly ClusterNode[], names: ReadonlySet<string | undefined>): NatsNode | undefined {
  const [leader] = names
  return names.size === 1 ? nodes.find(({ name, isRunning }) => name === leader && isRunning) : undefined
}

async function until<T>(what: string, find: () => Promise<T | undefined>): Promise<T> {
  const giveUpAt = performance.now() + giveUpMs
  for (;;) {
    const found = await find()
    if (found !== undefined) return found
    if (performance.now() > giveUpAt) throw new Error(`${what} did not appear in ${giveUpMs / 1000} s`)
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}
