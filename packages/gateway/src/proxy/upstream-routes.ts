import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock, Http } from '@gatehouse/kit'
import type { BreakerState } from '@gatehouse/limiter'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Forwarded, upstreamHeaders } from '../http/headers.ts'
import type { Caller } from '../model/caller.ts'
import type { RequestIdentity } from '../model/request-identity.ts'
import { allMethods, type RouteRule } from '../model/route-rule.ts'
import { refuseAmbiguousPath } from '../routing/path.ts'
import { pathOf, type Routing } from '../routing/routing.ts'
import type { CredentialWatch } from '../streams/credential-watch.ts'
import type { OpenStreams } from '../streams/open-streams.ts'
import { callerHeaders } from './caller-headers.ts'
import type { ContextTokens } from './context-tokens.ts'
import { forwardRequest, type ResponseStart } from './forward-request.ts'
import { forwardUpgrade, isWebSocketUpgrade, type UpgradeRequest } from './forward-upgrade.ts'
import { openUpstream, type Sibling, type Upstream } from './upstream.ts'

export interface UpstreamRoutesOptions {
  /** The rules that name an upstream. */
  readonly rules: readonly RouteRule[]
  readonly upstreams: Readonly<Record<string, Sibling>>
  readonly routing: Routing
  identityOf(raw: IncomingMessage): RequestIdentity | undefined
  readonly identify: {
    /** For routes where credentials don't count. */
    anonymous(raw: IncomingMessage): RequestIdentity
    /** What upstreams are told of the way a request came. */
    forwarded(raw: IncomingMessage): Forwarded
  }
  readonly contextTokens: ContextTokens
  readonly watch: CredentialWatch
  readonly openStreams: OpenStreams
  readonly clock: Clock
  /** Told when an upstream's breaker opens, probes or closes. */
  readonly onBreaker?: (upstream: string, state: BreakerState) => void
}

export interface UpstreamRoutes {
  readonly plugin: (http: Http) => Promise<void>
  stop(): Promise<void>
}

/**
 * The routes that upstreams serve.
 * @throws RangeError when a rule names an upstream that isn't configured.
 */
export function createUpstreamRoutes(options: UpstreamRoutesOptions): UpstreamRoutes {
  const { clock, onBreaker } = options
  const parts = { clock, ...(onBreaker ? { onChange: onBreaker } : {}) }
  const upstreams = new Map(
    Object.entries(options.upstreams).map(([name, declared]) => [name, openUpstream(name, declared, parts)]),
  )
  const byRule = (rule: RouteRule | undefined) =>
    rule?.upstream === undefined ? undefined : upstreamOf(rule, rule.upstream, upstreams)
  for (const rule of options.rules) byRule(rule)
  const methods = new Set([...allMethods, ...options.rules.flatMap((rule) => rule.methods ?? [])])
  const upgrades = new WeakMap<IncomingMessage, UpgradeRequest>()
  const streams = new Set<ServerResponse>()
  const serve = createForward(options, upgrades, streams)
  const { routing } = options
  return {
    async plugin(http) {
      http.removeAllContentTypeParsers()
      http.addContentTypeParser('*', (_request, _body, done) => done(null))
      if (options.rules.length > 0)
        http.route({
          url: '/*',
          method: [...methods],
          config: { catchAll: true, bodyTimeoutMs: (raw) => byRule(routing.knownRule(raw))?.requestTimeoutMs },
          schema: hiddenSchema,
          async handler(request, reply) {
            refuseAmbiguousPath(request.raw.url ?? '')
            const upstream = byRule(routing.ruleOf(request))
            if (upstream) return serve(upstream, request, reply)
            if (http.methodsAt(pathOf(request.raw)).length === 0) routing.refuseMethod(request.raw)
            return reply.callNotFound()
          },
        })
      handleUpgrades(http, upgrades)
      http.addHook('preClose', async () => {
        for (const response of streams) response.destroy()
      })
    },
    async stop() {
      options.watch.stop()
      await Promise.all([...upstreams.values()].map(({ pool }) => pool.close()))
    },
  }
}

function upstreamOf({ path }: RouteRule, name: string, upstreams: ReadonlyMap<string, Upstream>): Upstream {
  const upstream = upstreams.get(name)
  if (upstream) return upstream
  throw new RangeError(`route ${path}: there is no upstream "${name}"; there are ${[...upstreams.keys()].join(', ')}`)
}

/** Passes an admitted request on, with what its upstream is told about the caller. */
function createForward(
  options: UpstreamRoutesOptions,
  upgrades: WeakMap<IncomingMessage, UpgradeRequest>,
  streams: Set<ServerResponse>,
) {
  const { identityOf, identify, contextTokens, openStreams } = options
  return async (upstream: Upstream, { raw, id }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const identity = identityOf(raw) ?? identify.anonymous(raw)
    const { caller } = identity
    const target = upstream.mapTarget(raw.url ?? '/')
    const bound = { upstream: upstream.name, method: raw.method ?? 'GET', target }
    const headers = upstreamHeaders(raw, {
      forwarded: identify.forwarded(raw),
      keepCredentials: upstream.forwardToken,
      keepCookies: upstream.ownCookies,
      added: {
        'x-request-id': id,
        ...upstream.requestHeaders(raw, target),
        ...(caller && { ...callerHeaders(caller), 'x-gatehouse-context': contextTokens.issue(caller, bound) }),
      },
    })
    const gatewayHeaders = { ...reply.getHeaders(), 'x-request-id': id } as Record<string, string>
    const forwarded = { target, headers, gatewayHeaders }
    const watched = watching(options, upstream, raw, caller)
    const streamOwner = caller ? { kind: caller.kind, id: caller.subject } : identity.identifier
    const upgrade = upgrades.get(raw)
    if (upgrade) {
      const release = openStreams.acquire(streamOwner)
      upgrade.socket.once('close', release)
      await forwardUpgrade(upstream, { ...forwarded, ...upgrade, ...watched }).catch((error: unknown) => {
        release()
        throw error
      })
    } else await forwardRequest(upstream, { ...forwarded, raw, response: reply.raw, onResponse })
    reply.hijack()

    function onResponse({ isStream, end }: ResponseStart): void {
      const release = isStream ? openStreams.acquire(streamOwner) : openStreams.acquireWhenLong(streamOwner, end)
      if (isStream) streams.add(reply.raw)
      const ended = watched.onResponse(end)
      reply.raw.once('close', () => {
        streams.delete(reply.raw)
        release()
        ended()
      })
    }
  }
}

/** Ends what lasts longer than a request with the credential that opened it, unless its upstream keeps it. */
function watching(
  { watch }: UpstreamRoutesOptions,
  { keepsWebSockets, keepsStreams }: Upstream,
  raw: IncomingMessage,
  caller: Caller | undefined,
) {
  const unwatched = () => {}
  return {
    onUpgrade: (end: (reason: string) => void) =>
      caller && !keepsWebSockets
        ? watch.watch(raw, caller.expiresAt, () => end('The credential has ended'))
        : unwatched,
    onResponse: (end: () => void) => (caller && !keepsStreams ? watch.watch(raw, caller.expiresAt, end) : unwatched),
  }
}

/** The upstream's routes are its own to document. */
const hiddenSchema: object = { hide: true }

/**
 * Lets WebSocket upgrades take the same way in as every other request; a route without an upstream answers them plainly.
 * A server knows nothing of its upgraded connections, so they are ended here when it closes.
 */
function handleUpgrades(http: Http, upgrades: WeakMap<IncomingMessage, UpgradeRequest>): void {
  const { server } = http
  const open = new Set<Duplex>()
  http.addHook('preClose', async () => {
    for (const socket of open) socket.destroy()
  })
  Object.assign(server, { shouldUpgradeCallback: isWebSocketUpgrade })
  server.on('upgrade', (raw, socket, head) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    socket.on('error', () => socket.destroy())
    const response = new ServerResponse(raw)
    response.shouldKeepAlive = false
    response.assignSocket(socket as never)
    response.once('finish', () => socket.end())
    upgrades.set(raw, { socket, head })
    http.routing(raw, response)
  })
}
