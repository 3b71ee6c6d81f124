/** How a fake answers a request instead of taking it. */
export type Behaviour =
  | { readonly status: number; readonly retryAfter?: number; readonly body?: unknown }
  /** Takes the connection and never answers. */
  | 'hang'
  /** Takes the message, then cuts the connection without an answer. */
  | 'drop'
  /** Answers that the address or the device is no more. */
  | 'gone'

/** What a fake may report of a message it took. */
export interface FakeReport {
  /** The fake's own id of the message, as it answered it. */
  readonly message: string
  readonly what: 'delivered' | 'opened' | 'clicked' | 'bounced' | 'complained'
  /** A bounce after which the address is still good. */
  readonly soft?: boolean
  /** The same for every repetition. Default: a fresh one. */
  readonly eventId?: string
  /** Unix milliseconds. Default: now. */
  readonly at?: number
}

/** A provider that runs here. `Received` is a message as it took it. */
export interface Fake<Received = unknown> {
  readonly kind: string
  /** Where to send to: what `base_url` or `url` of the provider is set to. */
  readonly url: string
  /** The messages it took, the oldest first. */
  readonly requests: readonly Received[]
  /** What it refused, each with the reason it gave. */
  readonly refusals: readonly string[]
  /** The next requests, `times` of them (default 1), are answered so. Told again, what follows is queued. */
  answerNext(behaviour: Behaviour, times?: number): void
  /** Posts reports to `to` as the provider would, signed; answers the status it got. Left out where it reports nothing. */
  sendWebhook?(to: string, reports: readonly FakeReport[]): Promise<number>
  stop(): Promise<void>
}

/** The behaviours that a fake was told, in order. */
export interface Script {
  enqueue(behaviour: Behaviour, times?: number): void
  /** The behaviour of the request that just came; undefined when it is to be taken as usual. */
  next(): Behaviour | undefined
}

export function createScript(): Script {
  const queue: Behaviour[] = []
  return {
    enqueue(behaviour, times = 1) {
      for (let count = 0; count < times; count++) queue.push(behaviour)
    },
    next: () => queue.shift(),
  }
}
