import type { IncomingMessage } from 'node:http'
import { type Clock, Problem } from '@gatehouse/kit'
import { Breaker, type BreakerState } from '@gatehouse/limiter'
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
  request_timeout_ms: 3_600_000,
  breaker_failures: 5,
  breaker_open_ms: 1_000,
  websockets_at_expiry: 'close',
  streams_at_expiry: 'close',
  retries: 1,
} as const satisfies Omit<UpstreamDeclaration, 'url'>

/** What only a service of ours in another process is given. */
export interface Sibling extends UpstreamDeclaration {
  /** It sets and reads our own cookies. */
  readonly ownCookies?: boolean
  /** Headers that tell it of a request what it believes of its gateway alone. */
  toldOfRequest?(raw: IncomingMessage, target: string): Readonly<Record<string, string>>
}

/** An upstream with its connections. */
export interface Upstream {
  readonly name: string
  readonly origin: URL
  readonly pool: Pool
  readonly retries: number
  readonly forwardToken: boolean
  /** Whether it sets and reads our own cookies. */
  readonly ownCookies: boolean
  toldOfRequest(raw: IncomingMessage, target: string): Readonly<Record<string, string>>
  /** How long a request's body may take, in milliseconds. */
  readonly requestTimeoutMs: number
  /** Whether WebSockets go on when the credential that opened them has ended. */
  readonly keepsWebSockets: boolean
  /** Whether its answers go on when the credential that asked for them has ended. */
  readonly keepsStreams: boolean
  /** @throws Problem 503 with Retry-After while it is known not to answer; lets a probe through now and then. */
  admit(): void
  /** It answered, whatever it said. */
  answered(): void
  /** It did not answer. */
  failed(error: unknown): void
  /** The path to ask it for, given the request's own target. */
  target(url: string): string
}

export interface UpstreamParts {
  readonly clock: Clock
  /** Told when an upstream's breaker opens, probes or closes. */
  readonly onChange?: (name: string, state: BreakerState) => void
}

const longestOpenMs = 30_000

/**
 * Opens an upstream; connections are made as they are needed.
 * @throws RangeError naming the upstream when its address isn't an http or https URL.
 */
export function openUpstream(name: string, declared: Sibling, { clock, onChange }: UpstreamParts): Upstream {
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
  const { breaker_failures: failures, breaker_open_ms: openMs } = options
  const breaker = new Breaker({
    failures: failures === 0 ? Number.POSITIVE_INFINITY : failures,
    openMs,
    maxOpenMs: Math.max(openMs, longestOpenMs),
    onChange: (state) => onChange?.(name, state),
  })
  return {
    name,
    origin: address,
    pool,
    retries,
    forwardToken,
    ownCookies: declared.ownCookies ?? false,
    toldOfRequest: (raw, target) => declared.toldOfRequest?.(raw, target) ?? {},
    requestTimeoutMs: options.request_timeout_ms,
    keepsWebSockets: options.websockets_at_expiry === 'keep',
    keepsStreams: options.streams_at_expiry === 'keep',
    target,
    admit: () => admit(breaker, clock.now()),
    answered: () => breaker.recordSuccess(),
    failed: (error) => breaker.recordFailure(clock.now(), error),
  }

  function target(target: string): string {
    const rest = prefix !== '' && startsWithSegment(target, prefix) ? target.slice(prefix.length) : target
    return base + (rest.startsWith('/') ? rest : `/${rest}`)
  }
}

function admit(breaker: Breaker, now: number): void {
  if (breaker.admits(now)) return
  const seconds = Math.max(1, Math.ceil(breaker.waitMs(now) / 1000))
  throw new Problem(503, 'The service behind this address does not answer at the moment.', {
    headers: { 'retry-after': String(seconds) },
  })
}

function startsWithSegment(target: string, prefix: string): boolean {
  return target.startsWith(prefix) && /^(?:$|[/?])/.test(target.slice(prefix.length))
}
