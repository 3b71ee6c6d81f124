import { setTimeout as pause } from 'node:timers/promises'
import {
  type Acceptance,
  clientCredentials,
  createGatehouse,
  type Gatehouse,
  isGatehouseError,
  type NotifyRequest,
} from '@gatehouse/client'

/** Where a producer sends its events, and its client credentials. */
export interface ProducerOptions {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
}

/** A producer service as anyone might write one: it calls the APIs by the client, and waits as long as a limit says. */
export class Producer {
  /** The client, for calls that are not to wait for a limit. */
  readonly gatehouse: Gatehouse
  /** How often the producer was rate limited (429). */
  waits = 0

  constructor({ url, clientId, clientSecret }: ProducerOptions) {
    this.gatehouse = createGatehouse({
      baseUrl: url,
      credentials: clientCredentials({ issuer: url, tokenEndpoint: `${url}/token`, clientId, clientSecret }),
      hooks: { onRetry: ({ code }) => this.#count(code) },
    })
  }

  /** Sends one event. @throws GatehouseError when it is refused or the server is gone */
  notify(event: NotifyRequest): Promise<Acceptance> {
    return this.patiently((gatehouse) => gatehouse.notify(event))
  }

  /** Calls the APIs, again when a limit wants a longer wait than the client makes within a call. */
  async patiently<Result>(send: (gatehouse: Gatehouse) => PromiseLike<Result>): Promise<Result> {
    for (;;) {
      try {
        return await send(this.gatehouse)
      } catch (error) {
        if (!isGatehouseError(error, 'rate_limited')) throw error
        this.#count(error.code)
        await pause((error.retryAfterSeconds ?? 1) * 1_000)
      }
    }
  }

  #count(code: string): void {
    if (code === 'rate_limited') this.waits++
  }
}

/**
 * Sends the events, those of one user in their order and one at a time, those of different users `senders` at a time.
 * `each` receives every response as it comes. Ends when all senders have, with the error of one that failed.
 */
export async function play(
  producer: Producer,
  events: readonly NotifyRequest[],
  senders: number,
  each: (event: NotifyRequest, index: number, accepted: Acceptance) => void,
): Promise<void> {
  const queues = Array.from({ length: senders }, () => [] as Array<readonly [NotifyRequest, number]>)
  const users = [...new Set(events.map(({ user_id }) => user_id))]
  const queueOf = new Map(users.map((user, index) => [user, queues[index % senders]]))
  for (const [index, event] of events.entries()) queueOf.get(event.user_id)?.push([event, index])
  const ended = await Promise.allSettled(
    queues.map(async (queue) => {
      for (const [event, index] of queue) each(event, index, await producer.notify(event))
    }),
  )
  for (const sender of ended) if (sender.status === 'rejected') throw sender.reason
}
