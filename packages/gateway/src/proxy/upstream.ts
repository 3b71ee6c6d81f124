import type { IncomingMessage } from 'node:http'
import { type Clock, Problem } from '@gatehouse/kit'
import { Breaker, type BreakerState } from '@gatehouse/limiter'
import { Pool } from 'undici'
import type { UpstreamDeclaration } from '../config/upstream-declaration.ts'
import type { UpstreamState } from '../model/upstream-state.ts'
import { createConnectionShares, type OpenStreams } from '../streams/open-streams.ts'
import { UpstreamStatistics } from './upstream-statistics.ts'

/** The defaults of an upstream's settings. */
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

/** An own service in another process, with settings that no declared upstream has. */
export interface Sibling extends UpstreamDeclaration {
  /** It sets and reads our own cookies. */
  readonly ownCookies?: boolean
  /** Headers for one request that it accepts from its gateway only. */
  requestHeaders?(raw: IncomingMessage, target: string): Readonly<Record<string, string>>
}

/** Requests that wait for one of an upstream's connections. */
export interface RequestQueue {
  readonly maxLength: number
  /** The maximum wait, in milliseconds. */
  readonly maxWaitMs: number
  length: number
}

/** An upstream with its connections. */
export interface Upstream {
  readonly name: string
  readonly origin: URL
  readonly pool: Pool
  /** Requests that wait for a connection. */
  readonly queue: RequestQueue
  /** The uploads and streams that callers have open on its connections. */
  readonly shares: OpenStreams
  readonly retries: number
  readonly forwardToken: boolean
  /** Whether it sets and reads our own cookies. */
  readonly ownCookies: boolean
  requestHeaders(raw: IncomingMessage, target: string): Readonly<Record<string, string>>
  /** How long a request's body may take, in milliseconds. */
  readonly requestTimeoutMs: number
  /** How long a request may wait for the headers of its response, in milliseconds. */
  readonly headersTimeoutMs: number
  /** How long a response's body may pause, in milliseconds. */
  readonly bodyTimeoutMs: number
  /** Whether WebSockets stay open when their credential has ended. */
  readonly keepsWebSockets: boolean
  /** Whether responses continue when the credential of their request has ended. */
  readonly keepsStreams: boolean
  /** Lets a request or a probe through. @throws Problem 503 with Retry-After while the breaker is open */
  admit(): void
  /** Records that it answered, with any status, and how many milliseconds the headers of a response took. */
  recordSuccess(milliseconds?: number): void
  /** Records that it did not answer. */
  recordFailure(error: unknown): void
  /** The same for the figures alone, where the caller may be the reason: that opens no breaker. */
  noteFailure(error: unknown): void
  /** Its breaker, connections and figures at this moment. */
  state(): UpstreamState
  /** The path and query of an upstream request, from those of the caller's. */
  mapTarget(url: string): string
}

/** What an upstream's breaker needs. */
export interface UpstreamOptions {
  readonly clock: Clock
  /** Called when its breaker opens, probes or closes. */
  readonly onChange?: (name: string, state: BreakerState) => void
}

const maxOpenMs = 30_000
const queuedPerConnection = 100

/**
 * Opens an upstream. Connections are made when they are needed.
 * @throws RangeError naming the upstream when its address is not an http or https URL
 */
export function openUpstream(name: string, declared: Sibling, { clock, onChange }: UpstreamOptions): Upstream {
  const options = { ...upstreamDefaults, ...declared }
  const origin = parseOrigin(name, options.url)
  let since: number | undefined
  const breaker = createBreaker(options, (state) => {
    since = state === 'closed' ? undefined : (since ?? clock.now())
    onChange?.(name, state)
  })
  const pool = createPool(origin, options)
  const statistics = new UpstreamStatistics()
  return {
    name,
    origin,
    pool,
    queue: { maxLength: options.connections * queuedPerConnection, maxWaitMs: options.headers_timeout_ms, length: 0 },
    shares: createConnectionShares(options.connections),
    retries: options.retries,
    forwardToken: options.forward_token,
    ownCookies: declared.ownCookies ?? false,
    requestHeaders: (raw, target) => declared.requestHeaders?.(raw, target) ?? {},
    requestTimeoutMs: options.request_timeout_ms,
    headersTimeoutMs: options.headers_timeout_ms,
    bodyTimeoutMs: options.body_timeout_ms,
    keepsWebSockets: options.websockets_at_expiry === 'keep',
    keepsStreams: options.streams_at_expiry === 'keep',
    mapTarget: createTargetMapper(origin.pathname.replace(/\/$/, ''), options.strip_prefix),
    admit: () => admit(breaker, clock.now(), options.breaker_open_ms),
    recordSuccess(milliseconds) {
      breaker.recordSuccess()
      if (milliseconds !== undefined) statistics.recordAnswer(clock.now(), milliseconds)
    },
    recordFailure(error) {
      breaker.recordFailure(clock.now(), error)
      statistics.recordFailure(clock.now(), error)
    },
    noteFailure: (error) => statistics.recordFailure(clock.now(), error),
    state() {
      const now = clock.now()
      const { connected, running, queued } = pool.stats
      const connections = { open: connected, running, waiting: queued }
      const { state } = breaker
      const waitMs = breaker.waitMs(now)
      return { name, url: origin.href, breaker: state, since, waitMs, figures: statistics.read(now), connections }
    },
  }
}

type Settings = Required<UpstreamDeclaration>

function parseOrigin(name: string, url: string): URL {
  const origin = URL.parse(url)
  if (origin?.protocol !== 'http:' && origin?.protocol !== 'https:')
    throw new RangeError(`upstream "${name}": the address must be an http or https URL, not "${url}"`)
  if (origin.search || origin.hash || origin.username || origin.password)
    throw new RangeError(`upstream "${name}": the address may have a host, a port and a path, nothing more`)
  return origin
}

function createPool({ origin }: URL, options: Settings): Pool {
  return new Pool(origin, {
    connections: options.connections,
    pipelining: 1,
    connect: { timeout: options.connect_timeout_ms },
    headersTimeout: options.headers_timeout_ms,
    bodyTimeout: options.body_timeout_ms,
  })
}

function createBreaker(options: Settings, onChange: (state: BreakerState) => void): Breaker {
  const { breaker_failures: failures, breaker_open_ms: openMs } = options
  return new Breaker({
    failures: failures === 0 ? Number.POSITIVE_INFINITY : failures,
    openMs,
    maxOpenMs: Math.max(openMs, maxOpenMs),
    onChange,
  })
}

/** Takes `prefix` off the front of a path and puts `base` before it. */
function createTargetMapper(base: string, prefix: string): (target: string) => string {
  return (target) => {
    const rest = prefix !== '' && startsWithSegment(target, prefix) ? target.slice(prefix.length) : target
    return base + (rest.startsWith('/') ? rest : `/${rest}`)
  }
}

/** A probe whose caller leaves, or does not send its body, says nothing: it keeps others waiting no longer than `openMs`. */
function admit(breaker: Breaker, now: number, openMs: number): void {
  if (breaker.admits(now, openMs)) return
  const seconds = Math.max(1, Math.ceil(breaker.waitMs(now) / 1000))
  throw new Problem(503, 'The service behind this address does not answer at the moment.', {
    headers: { 'retry-after': String(seconds) },
  })
}

function startsWithSegment(target: string, prefix: string): boolean {
  return target.startsWith(prefix) && /^(?:$|[/?])/.test(target.slice(prefix.length))
}
