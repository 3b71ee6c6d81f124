import { Pool } from 'undici'
import type { UpstreamDeclaration } from './declaration.ts'

/** What an upstream gets when nothing else is configured. */
export const upstreamDefaults = {
  strip_prefix: '',
  forward_token: false,
  connections: 64,
  connect_timeout_ms: 1_000,
  headers_timeout_ms: 30_000,
  body_timeout_ms: 30_000,
  retries: 1,
} as const satisfies Omit<UpstreamDeclaration, 'url'>

/** An upstream with its connections. */
export interface Upstream {
  readonly name: string
  readonly origin: URL
  readonly pool: Pool
  readonly retries: number
  readonly forwardToken: boolean
  /** The path to ask it for, given the request's own target. */
  target(url: string): string
}

/**
 * Opens an upstream; connections are made as they are needed.
 * @throws RangeError naming the upstream when its address isn't an http or https URL.
 */
export function openUpstream(name: string, declared: UpstreamDeclaration): Upstream {
  const options = { ...upstreamDefaults, ...declared }
  const { url, strip_prefix: prefix, forward_token: forwardToken, retries } = options
  const address = URL.parse(url)
  if (address?.protocol !== 'http:' && address?.protocol !== 'https:')
    throw new RangeError(`upstream "${name}": the address must be an http or https URL, not "${url}"`)
  if (address.search || address.hash || address.username)
    throw new RangeError(`upstream "${name}": the address may hold a host, a port and a path, nothing more`)
  const base = address.pathname.replace(/\/$/, '')
  const pool = new Pool(address.origin, {
    connections: options.connections,
    pipelining: 1,
    connect: { timeout: options.connect_timeout_ms },
    headersTimeout: options.headers_timeout_ms,
    bodyTimeout: options.body_timeout_ms,
  })
  return { name, origin: address, pool, retries, forwardToken, target }

  function target(target: string): string {
    const rest = prefix !== '' && startsWithSegment(target, prefix) ? target.slice(prefix.length) : target
    return base + (rest.startsWith('/') ? rest : `/${rest}`)
  }
}

function startsWithSegment(target: string, prefix: string): boolean {
  return target.startsWith(prefix) && /^(?:$|[/?])/.test(target.slice(prefix.length))
}
