import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Problem } from '@gatehouse/kit'
import type { Identifier } from '@gatehouse/limiter'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../model/caller.ts'
import type { Forwarding } from '../model/forwarding.ts'
import type { RequestIdentity } from '../model/request-identity.ts'
import type { CredentialWatch } from '../streams/credential-watch.ts'
import type { OpenStreams } from '../streams/open-streams.ts'
import { callerHeaders } from './caller-headers.ts'
import type { ContextTokens } from './context-tokens.ts'
import { cutOff } from './cut-off.ts'
import { forwardRequest, type ResponseStart } from './forward-request.ts'
import { forwardUpgrade, type UpgradeRequest } from './forward-upgrade.ts'
import type { Upstream } from './upstream.ts'
import { upstreamHeaders } from './upstream-headers.ts'

/** What a {@link Forwarder} needs to know about requests, and who watches what lasts longer than one. */
export interface ForwarderOptions {
  /** The identity of an admitted request; undefined on public routes. */
  identityOf(raw: IncomingMessage): RequestIdentity | undefined
  /** The identity of a request by its address alone. */
  anonymous(raw: IncomingMessage): RequestIdentity
  /** How the request reached the gateway. */
  forwardingOf(raw: IncomingMessage): Forwarding
  readonly contextTokens: ContextTokens
  readonly watch: CredentialWatch
  readonly openStreams: OpenStreams
}

const doNothing = () => {}

/** Forwards admitted requests to their upstreams, with the caller in headers, and tracks the streams that they open. */
export class Forwarder {
  /** Upgrades on their way through the middleware, by their request. */
  readonly upgrades = new WeakMap<IncomingMessage, UpgradeRequest>()
  readonly #options: ForwarderOptions
  readonly #streams = new Set<ServerResponse>()

  constructor(options: ForwarderOptions) {
    this.#options = options
  }

  /** Answers `reply` with the upstream's response. @throws Problem when the upstream does not answer */
  async forward(upstream: Upstream, { raw, id }: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { identityOf, anonymous, openStreams } = this.#options
    const { caller, identifier } = identityOf(raw) ?? anonymous(raw)
    const target = upstream.mapTarget(raw.url ?? '/')
    const headers = this.#headersFor(upstream, raw, { id, caller, target })
    const gatewayHeaders = { ...reply.getHeaders(), 'x-request-id': id } as Record<string, string>
    const request = { target, headers, gatewayHeaders }
    const owner = caller ? { kind: caller.kind, id: caller.subject } : identifier
    const upgrade = this.upgrades.get(raw)
    if (upgrade) {
      // Its client left during the checks: nothing that waits for its connection to close would be called.
      if (upgrade.socket.destroyed) return void reply.hijack()
      const release = openStreams.acquire(owner)
      upgrade.socket.once('close', release)
      const watched = this.#watchUpgrade(upstream, raw, caller)
      await forwardUpgrade(upstream, { ...request, ...upgrade, ...watched }).catch((error: unknown) => {
        release()
        throw error
      })
    } else {
      const response = reply.raw
      const onResponse = (start: ResponseStart) => this.#track(upstream, { raw, response, caller, owner }, start)
      const onUpload = (end: (problem: Problem) => void) => upstream.shares.acquireWhenLong(owner, end)
      await forwardRequest(upstream, { ...request, raw, response, onResponse, onUpload })
    }
    reply.hijack()
  }

  /** Cuts off every stream that is open. */
  closeStreams(): void {
    for (const response of this.#streams) cutOff(response)
  }

  #headersFor(
    upstream: Upstream,
    raw: IncomingMessage,
    { id, caller, target }: { readonly id: string; readonly caller: Caller | undefined; readonly target: string },
  ): string[] {
    const { forwardingOf, contextTokens } = this.#options
    const bound = { upstream: upstream.name, method: raw.method ?? 'GET', target }
    return upstreamHeaders(raw, {
      forwarding: forwardingOf(raw),
      keepCredentials: upstream.forwardToken,
      keepCookies: upstream.ownCookies,
      added: {
        'x-request-id': id,
        ...upstream.requestHeaders(raw, target),
        ...(caller && { ...callerHeaders(caller), 'x-gatehouse-context': contextTokens.issue(caller, bound) }),
      },
    })
  }

  /** Counts a response that may last, and ends it with the credential that opened it. */
  #track(
    upstream: Upstream,
    { raw, response, caller, owner }: TrackedResponse,
    { isStream, end }: ResponseStart,
  ): void {
    for (const counted of [this.#options.openStreams, upstream.shares]) {
      const release = isStream ? counted.acquire(owner) : counted.acquireWhenLong(owner, end)
      response.once('close', release)
    }
    if (isStream) this.#streams.add(response)
    const unwatch = this.#watchStream(upstream, raw, caller, end)
    response.once('close', () => {
      this.#streams.delete(response)
      unwatch()
    })
  }

  #watchStream(upstream: Upstream, raw: IncomingMessage, caller: Caller | undefined, end: () => void): () => void {
    return caller && !upstream.keepsStreams ? this.#options.watch.watch(raw, caller, end) : doNothing
  }

  #watchUpgrade(upstream: Upstream, raw: IncomingMessage, caller: Caller | undefined) {
    return {
      onUpgrade: (end: (reason: string) => void) =>
        caller && !upstream.keepsWebSockets
          ? this.#options.watch.watch(raw, caller, () => end('The credential has ended'))
          : doNothing,
      onResponse: (end: () => void) => this.#watchStream(upstream, raw, caller, end),
    }
  }
}

interface TrackedResponse {
  readonly raw: IncomingMessage
  readonly response: ServerResponse
  readonly caller: Caller | undefined
  readonly owner: Identifier
}
