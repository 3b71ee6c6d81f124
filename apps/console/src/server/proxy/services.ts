import { type Dispatcher, Pool } from 'undici'
import type { ApiService, ConsoleOptions } from '../options.ts'
import { type CallRules, createCallPlaces } from './call-places.ts'

/** A request to a service. */
export interface ServiceCall {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | undefined
  readonly signal: AbortSignal
  /** How long the service may take before it answers, in milliseconds. Default: 15,000. */
  readonly slowMs?: number | undefined
  /** For whom: the id of a user, in all their sessions. The calls of one holder take no connection from the others. */
  readonly holder: string
}

/** The connections to the services. */
export interface Services {
  /** The services that there are. */
  readonly names: readonly ApiService[]
  /** Calls a service. The place of its holder is taken until the body of the answer has ended. @throws Problem 429 */
  call(service: ApiService, call: ServiceCall): Promise<Dispatcher.ResponseData>
  close(): Promise<void>
}

/** A service begins its answer within this time, in milliseconds, unless the call allows more. */
const headersTimeoutMs = 15_000
/** A pause in an answer is no longer than this, in milliseconds. */
const bodyTimeoutMs = 30_000
/** Connections to a service: enough for several people who have all that one may have. */
const connections = 64
/** More than a page asks at once; a stream counts as long as it lasts. */
const rules: CallRules = { perHolder: 12, waiting: 64, waitMs: 10_000 }

/** Opens the connections to the services, a pool for each. */
export function openServices(addresses: ConsoleOptions['services']): Services {
  const pools = new Map(
    Object.entries(addresses).map(([name, address]) => {
      const { origin, pathname } = new URL(address)
      const pool = new Pool(origin, { connections, bodyTimeout: bodyTimeoutMs })
      return [name, { pool, prefix: pathname.replace(/\/$/, ''), places: createCallPlaces(rules) }]
    }),
  )
  return {
    names: [...pools.keys()] as ApiService[],
    async call(service, { method, path, headers = {}, body, signal, slowMs, holder }) {
      const found = pools.get(service)
      if (found === undefined) throw new Error(`the console knows no ${service} service`)
      const request = { method: method as Dispatcher.HttpMethod, path: found.prefix + path, headers, signal }
      const release = await found.places.take(holder, signal)
      try {
        const answer = await found.pool.request({
          ...request,
          body: body ?? null,
          headersTimeout: slowMs ?? headersTimeoutMs,
        })
        answer.body.once('close', release)
        return answer
      } catch (error) {
        release()
        throw error
      }
    },
    async close() {
      await Promise.all([...pools.values()].map(({ pool }) => pool.destroy()))
    },
  }
}
