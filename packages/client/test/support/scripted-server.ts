import type { ConnectionOptions } from '../../src/call/connection.ts'
import { VirtualClock } from './virtual-clock.ts'

/** A request as a server sees it. */
export interface SeenRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: string
  /** Unix milliseconds. */
  readonly at: number
}

/** What the server does with a request: an answer, an answer without body, a failure, or nothing at all. */
export type Reaction = Response | number | 'broken' | 'silent'

/** Problem details with a status. */
export function problem(status: number, members: object = {}, headers: Record<string, string> = {}): Response {
  const body = JSON.stringify({ type: 'about:blank', title: 'Error', status, detail: 'It went wrong.', ...members })
  return new Response(body, { status, headers: { 'content-type': 'application/problem+json', ...headers } })
}

/** JSON with status 200, or another. */
export function json(value: unknown, init: ResponseInit = {}): Response {
  return Response.json(value, init)
}

/** A server in the place of `fetch`, which reacts by a script and remembers what it saw. */
export class ScriptedServer {
  readonly clock: VirtualClock
  readonly requests: SeenRequest[] = []
  readonly #react: (request: SeenRequest, index: number) => Reaction | Promise<Reaction>

  constructor(
    react: (request: SeenRequest, index: number) => Reaction | Promise<Reaction>,
    clock = new VirtualClock(),
  ) {
    this.#react = react
    this.clock = clock
  }

  readonly fetch: typeof globalThis.fetch = async (input, init = {}) => {
    init.signal?.throwIfAborted()
    const { method = 'GET' } = init
    const seen = {
      method,
      url: new URL(String(input)),
      headers: new Headers(init.headers),
      body: String(init.body ?? ''),
      at: this.clock.now(),
    }
    this.requests.push(seen)
    const reaction = await this.#react(seen, this.requests.length - 1)
    if (reaction === 'broken') throw new TypeError('fetch failed')
    if (reaction !== 'silent') return typeof reaction === 'number' ? new Response(null, { status: reaction }) : reaction
    return new Promise((_, reject) => init.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
  }

  /** Options of a client of this server, whose jitter is half of what is possible. */
  options(more: Partial<ConnectionOptions> = {}): ConnectionOptions {
    return { baseUrl: 'https://api.example.com', fetch: this.fetch, clock: this.clock, random: () => 0.5, ...more }
  }
}

/** A server that reacts to its requests one after the other; the last reaction is that to all others. */
export function inTurn(...reactions: readonly (Reaction | (() => Reaction))[]): ScriptedServer {
  return new ScriptedServer((_, index) => {
    const reaction = reactions[Math.min(index, reactions.length - 1)] ?? 204
    return typeof reaction === 'function' ? reaction() : reaction
  })
}
