import type { Clock, Http } from '@gatehouse/kit'
import type { BreakerState } from '@gatehouse/limiter'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { allMethods, type RouteRule } from '../model/route-rule.ts'
import type { UpstreamState } from '../model/upstream-state.ts'
import { refuseAmbiguousPath } from '../routing/path.ts'
import { pathOf, type Routing } from '../routing/routing.ts'
import { Forwarder, type ForwarderOptions } from './forwarder.ts'
import { listenForUpgrades } from './upgrade-listener.ts'
import { openUpstream, type Sibling, type Upstream } from './upstream.ts'

/** The upstreams of a gateway and the rules that name them. */
export interface UpstreamRoutesOptions extends ForwarderOptions {
  /** The rules that name an upstream. */
  readonly rules: readonly RouteRule[]
  readonly upstreams: Readonly<Record<string, Sibling>>
  readonly routing: Routing
  readonly clock: Clock
  /** Called when an upstream's breaker opens, probes or closes. */
  readonly onBreaker?: (upstream: string, state: BreakerState) => void
}

/** An upstream's routes are its own to document. */
const hiddenSchema: object = { hide: true }

/** The routes that upstreams serve, behind one catch-all route. */
export class UpstreamRoutes {
  readonly #options: UpstreamRoutesOptions
  readonly #upstreams: ReadonlyMap<string, Upstream>
  readonly #forwarder: Forwarder

  /** @throws RangeError when a rule names an upstream that is not configured */
  constructor(options: UpstreamRoutesOptions) {
    const { clock, onBreaker } = options
    const upstreamOptions = { clock, ...(onBreaker ? { onChange: onBreaker } : {}) }
    this.#options = options
    this.#forwarder = new Forwarder(options)
    this.#upstreams = new Map(
      Object.entries(options.upstreams).map(([name, declared]) => [
        name,
        openUpstream(name, declared, upstreamOptions),
      ]),
    )
    for (const rule of options.rules) this.#upstreamOf(rule)
  }

  /** Registers the catch-all route and the listener for WebSocket upgrades. */
  register(http: Http): void {
    http.removeAllContentTypeParsers()
    http.addContentTypeParser('*', (_request, _body, done) => done(null))
    const { rules, routing } = this.#options
    if (rules.length > 0)
      http.route({
        url: '/*',
        method: [...new Set([...allMethods, ...rules.flatMap((rule) => rule.methods ?? [])])],
        config: { catchAll: true, bodyTimeoutMs: (raw) => this.#upstreamOf(routing.knownRule(raw))?.requestTimeoutMs },
        schema: hiddenSchema,
        handler: (request, reply) => this.#handle(http, request, reply),
      })
    listenForUpgrades(http, this.#forwarder.upgrades)
    http.addHook('preClose', async () => this.#forwarder.closeStreams())
  }

  /** How the upstreams are doing, in the order of the file. */
  states(): UpstreamState[] {
    return [...this.#upstreams.values()].map((upstream) => upstream.state())
  }

  /** Closes the connections to upstreams once their requests are done. */
  async stop(): Promise<void> {
    this.#options.watch.stop()
    await Promise.all([...this.#upstreams.values()].map(({ pool }) => pool.close()))
  }

  async #handle(http: Http, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { routing } = this.#options
    refuseAmbiguousPath(request.raw.url ?? '')
    const upstream = this.#upstreamOf(routing.ruleOf(request))
    if (upstream) return this.#forwarder.forward(upstream, request, reply)
    if (http.methodsAt(pathOf(request.raw)).length === 0) routing.refuseMethod(request.raw)
    return reply.callNotFound()
  }

  #upstreamOf(rule: RouteRule | undefined): Upstream | undefined {
    if (rule?.upstream === undefined) return undefined
    const upstream = this.#upstreams.get(rule.upstream)
    if (upstream) return upstream
    const known = [...this.#upstreams.keys()].join(', ')
    throw new RangeError(`route ${rule.path}: there is no upstream "${rule.upstream}"; there are ${known}`)
  }
}
