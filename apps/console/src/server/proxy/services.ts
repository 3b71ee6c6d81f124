import { type Dispatcher, Pool } from 'undici'
import type { ApiService, ConsoleOptions } from '../options.ts'

/** A request to a service. */
export interface ServiceCall {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | undefined
  readonly signal: AbortSignal
}

/** The connections to the services. */
export interface Services {
  /** The services that there are. */
  readonly names: readonly ApiService[]
  call(service: ApiService, call: ServiceCall): Promise<Dispatcher.ResponseData>
  close(): Promise<void>
}

/** A service begins its answer within this time, in milliseconds. */
const headersTimeoutMs = 15_000
/** A pause in an answer is no longer than this, in milliseconds. */
const bodyTimeoutMs = 30_000
const connections = 32

/** Opens the connections to the services, a pool for each. */
export function openServices(addresses: ConsoleOptions['services']): Services {
  const pools = new Map(
    Object.entries(addresses).map(([name, address]) => {
      const { origin, pathname } = new URL(address)
      const pool = new Pool(origin, { connections, headersTimeout: headersTimeoutMs, bodyTimeout: bodyTimeoutMs })
      return [name, { pool, prefix: pathname.replace(/\/$/, '') }]
    }),
  )
  return {
    names: [...pools.keys()] as ApiService[],
    async call(service, { method, path, headers = {}, body, signal }) {
      const found = pools.get(service)
      if (found === undefined) throw new Error(`the console knows no ${service} service`)
      const request = { method: method as Dispatcher.HttpMethod, path: found.prefix + path, headers, signal }
      return found.pool.request({ ...request, body: body ?? null })
    },
    async close() {
      await Promise.all([...pools.values()].map(({ pool }) => pool.destroy()))
    },
  }
}
