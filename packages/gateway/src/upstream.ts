import { Pool } from 'undici'

/** How an upstream is reached. */
export interface UpstreamOptions {
  /** `http://orders:8080`, or with a base path that goes before every path: `http://orders:8080/api`. */
  readonly url: string
  /** Taken off the front of the path before it is sent: `/orders` sends `/orders/7` as `/7`. */
  readonly stripPrefix?: string
  /** Passes the caller's own token or API key on; otherwise it stays here. Default: false. */
  readonly forwardToken?: boolean
  /** The most connections held to it. */
  readonly connections?: number
  /** How long a connection may take to be made, in milliseconds. */
  readonly connectTimeoutMs?: number
  /** How long the answer's headers may be awaited, in milliseconds. */
  readonly headersTimeoutMs?: number
  /** How long the answer's body may pause, in milliseconds. */
  readonly bodyTimeoutMs?: number
  /** How often a safe request without a body is sent again when its connection fails before an answer. */
  readonly retries?: number
}

/** What an upstream gets when nothing else is configured. */
export const upstreamDefaults = {
  connections: 64,
  connectTimeoutMs: 1_000,
  headersTimeoutMs: 30_000,
  bodyTimeoutMs: 30_000,
  retries: 1,
} as const

/** An upstream with its connections. */
export interface Upstream {
  readonly name: string
  readonly origin: URL
  readonly pool: Pool
  readonly retries: number
  readonly forwardToken: boolean
  readonly connectTimeoutMs: number
  /** The path to ask it for, given the request's own target. */
  target(url: string): string
}

/**
 * Opens an upstream; connections are made as they are needed.
 * @throws RangeError naming the upstream when its address isn't an http or https URL.
 */
export function openUpstream(name: string, options: UpstreamOptions): Upstream {
  const { url, stripPrefix = '', forwardToken = false, ...given } = options
  const { connections, connectTimeoutMs, headersTimeoutMs, bodyTimeoutMs, retries } = { ...upstreamDefaults, ...given }
  const address = URL.parse(url)
  if (address?.protocol !== 'http:' && address?.protocol !== 'https:')
    throw new RangeError(`upstream "${name}": the address must be an http or https URL, not "${url}"`)
  if (address.search || address.hash || address.username)
    throw new RangeError(`upstream "${name}": the address may hold a host, a port and a path, nothing more`)
  const base = address.pathname.replace(/\/$/, '')
  const pool = new Pool(address.origin, {
    connections,
    pipelining: 1,
    connect: { timeout: connectTimeoutMs },
    headersTimeout: headersTimeoutMs,
    bodyTimeout: bodyTimeoutMs,
    maxResponseSize: -1,
  })
  return { name, origin: address, pool, retries, forwardToken, connectTimeoutMs, target }

  function target(target: string): string {
    const rest =
      stripPrefix !== '' && startsWithSegment(target, stripPrefix) ? target.slice(stripPrefix.length) : target
    return base + (rest.startsWith('/') ? rest : `/${rest}`)
  }
}

function startsWithSegment(target: string, prefix: string): boolean {
  return target.startsWith(prefix) && /^(?:$|[/?])/.test(target.slice(prefix.length))
}
